import type {
  AuditEntry,
  DeadEvent,
  LiveProcess,
  OperatedEndpoint,
  Queue,
  QueueDepth,
  QueuePause,
  QueueShare,
  TraceSummary,
} from '@customer-platform/contracts/accounts';
import type { Column } from './table.ts';
import { age, duration, milliseconds, minute } from './text.ts';

/** The control plane's time; undefined if its response did not say. */
type Now = Date | undefined;

/** The last failure of something, if anything has failed. */
type LastError = Pick<Queue, 'last_error' | 'last_error_at'>;

const mib = 1_048_576;

/** Columns of queues. An error that has no room is below its row, or else cut. */
export function queueColumns(now: Now, errors: 'below' | 'cut' = 'below'): Column<Queue>[] {
  return [
    { title: 'service', of: ({ service }) => service },
    { title: 'queue', of: ({ queue }) => queue },
    { title: 'ready', of: ({ ready }) => String(ready), isNumber: true },
    { title: 'run', of: ({ running }) => String(running), isNumber: true, rank: 2 },
    { title: 'wait', of: ({ waiting }) => String(waiting), isNumber: true, rank: 1 },
    { title: 'failed', of: failedOf, isNumber: true, rank: 3 },
    { title: 'dead', of: ({ dead }) => String(dead), isNumber: true },
    { title: 'lag', of: lagOf, isNumber: true },
    { title: 'paused', of: pausedOf },
    {
      title: 'error',
      of: (queue) => errorText(queue, now),
      ...(errors === 'below' ? { isBelow: true } : { min: 10, rank: 4 }),
    },
  ];
}

/** Returns the last error with its age, which tells one that is over from one that goes on; `-` for none. */
export function errorText({ last_error, last_error_at }: LastError, now: Now): string {
  if (last_error === undefined) return '-';
  return last_error_at === undefined ? last_error : `${sinceText(last_error_at, now)}: ${last_error}`;
}

/** Returns how many entries wait after a failure; `-` where they are not counted. */
function failedOf({ failed_waiting }: Queue | QueueShare): string {
  return failed_waiting === undefined ? '-' : String(failed_waiting);
}

/** Returns the lag of a queue as a duration; `-` for none. */
export function lagOf({ lag_seconds }: Queue): string {
  return lag_seconds > 0 ? duration(lag_seconds) : '-';
}

function pausedOf({ paused, pauses }: Queue): string {
  if (paused) return 'all';
  return pauses.length > 0 ? 'part' : '-';
}

/** Returns what a pause holds up, by whom, since when and why. */
export function pauseText({ account, endpoint, reason, actor, at }: QueuePause, now: Now): string {
  const parts = [account && `account ${account}`, endpoint && `endpoint ${endpoint}`].filter(Boolean);
  return `${parts.join(', ') || 'whole queue'}, by ${actor} ${sinceText(at, now)}: ${reason}`;
}

function sinceText(timestamp: string, now: Now): string {
  return now === undefined ? `at ${minute(timestamp)}` : `${age(timestamp, now)} ago`;
}

/** Columns of the parts of a queue by account, or by endpoint: where these have an endpoint, their account may be below it. */
export function partColumns(parts: QueueShare[], now: Now): Column<QueueShare>[] {
  const isByEndpoint = parts.some(({ endpoint }) => endpoint !== undefined);
  return [
    { title: 'endpoint', of: ({ endpoint }) => endpoint ?? '-' },
    { title: 'account', of: ({ account }) => account, ...(isByEndpoint && { isBelow: true }) },
    { title: 'ready', of: ({ ready }) => String(ready), isNumber: true },
    { title: 'run', of: ({ running }) => String(running), isNumber: true },
    { title: 'wait', of: ({ waiting }) => String(waiting), isNumber: true },
    { title: 'failed', of: failedOf, isNumber: true, rank: 3 },
    { title: 'dead', of: ({ dead }) => String(dead), isNumber: true },
    { title: 'oldest', of: ({ oldest_due_at }) => age(oldest_due_at, now), isNumber: true, rank: 4 },
    { title: 'failing', of: ({ failing_since }) => age(failing_since, now), isNumber: true, rank: 2 },
    { title: 'error', of: ({ last_error }) => last_error ?? '-', isBelow: true },
  ];
}

/** Columns of a queue's depth over the last hour. */
export function depthColumns(): Column<QueueDepth>[] {
  return [
    { title: 'at', of: ({ at }) => minute(at) },
    { title: 'ready', of: ({ ready }) => String(ready), isNumber: true },
    { title: 'run', of: ({ running }) => String(running), isNumber: true },
    { title: 'wait', of: ({ waiting }) => String(waiting), isNumber: true },
    { title: 'dead', of: ({ dead }) => String(dead), isNumber: true },
  ];
}

/** Columns of dead events. */
export function deadColumns(now: Now): Column<DeadEvent>[] {
  return [
    { title: 'id', of: ({ id }) => id },
    { title: 'age', of: ({ dead_at }) => age(dead_at, now), isNumber: true, rank: 1 },
    { title: 'service', of: ({ service }) => service },
    { title: 'queue', of: ({ queue }) => queue, isBelow: true },
    { title: 'reason', of: ({ reason }) => reason, isBelow: true },
    { title: 'bytes', of: ({ size_bytes }) => String(size_bytes), isNumber: true, rank: 4 },
    { title: 'account', of: ({ account }) => account ?? '-', isBelow: true },
    { title: 'tries', of: ({ tries }) => String(tries), isNumber: true, isBelow: true },
    { title: 'kind', of: ({ kind, subject }) => kind ?? subject, isBelow: true },
  ];
}

/** Columns of webhook endpoints. */
export function endpointColumns(now: Now): Column<OperatedEndpoint>[] {
  return [
    { title: 'id', of: ({ id }) => id },
    { title: 'failing', of: ({ failing_since }) => age(failing_since, now), isNumber: true },
    { title: 'pending', of: ({ pending }) => String(pending), isNumber: true },
    { title: 'state', of: endpointState, min: 6 },
    { title: 'url', of: ({ url }) => url, isBelow: true },
    { title: 'account', of: ({ account }) => account, isBelow: true },
    { title: 'error', of: (endpoint) => errorText(endpoint, now), isBelow: true },
  ];
}

function endpointState({ active, paused, disabled_reason }: OperatedEndpoint): string {
  if (!active) return disabled_reason === undefined ? 'off' : `off: ${disabled_reason}`;
  return paused ? 'paused' : '-';
}

/** Columns of live processes. */
export function processColumns(now: Now): Column<LiveProcess>[] {
  return [
    { title: 'service', of: ({ service }) => service },
    { title: 'pid', of: ({ pid }) => (pid === undefined ? '-' : String(pid)), isNumber: true },
    { title: 'host', of: ({ host }) => host, min: 12 },
    { title: 'up', of: ({ started_at }) => age(started_at, now), isNumber: true },
    { title: 'waiting for', of: ({ waiting_for }) => waiting_for ?? '-', min: 10 },
    { title: 'requests', of: ({ in_flight }) => String(in_flight), isNumber: true, rank: 3 },
    { title: 'loop ms', of: ({ event_loop_lag_ms }) => milliseconds(event_loop_lag_ms), isNumber: true },
    { title: 'MiB', of: ({ memory_bytes }) => String(Math.round(memory_bytes / mib)), isNumber: true, rank: 2 },
    { title: 'pool', of: poolOf, isNumber: true },
    { title: 'version', of: ({ version }) => version, min: 5, rank: 1 },
    { title: 'instance', of: ({ instance }) => instance, rank: 4 },
    { title: 'migration', of: ({ migrations }) => migrations, min: 10, rank: 5 },
    { title: 'refused', of: refusedOf, isBelow: true },
  ];
}

/** Names what a process announces in vain. */
function refusedOf({ refused = [] }: LiveProcess): string {
  const texts = refused.map(({ route, reason }) => (route === null ? reason : `${route}: ${reason}`));
  return texts.length > 0 ? texts.join('; ') : '-';
}

function poolOf({ pool }: LiveProcess): string {
  const waiting = pool.waiting > 0 ? `+${pool.waiting}` : '';
  return `${pool.used}/${pool.size}${waiting}`;
}

/** Columns of the audit log. */
export function auditColumns(now: Now): Column<AuditEntry>[] {
  return [
    { title: 'at', of: ({ at }) => minute(at), isBelow: true },
    { title: 'age', of: ({ at }) => age(at, now), isNumber: true },
    { title: 'actor', of: ({ actor }) => actor, min: 8 },
    { title: 'action', of: ({ action }) => action },
    { title: 'target', of: ({ target }) => target },
    { title: 'change', of: changeOf, isBelow: true },
    { title: 'account', of: ({ account }) => account ?? '-', isBelow: true },
  ];
}

function changeOf({ before, after }: AuditEntry): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changes = names.map((name) => {
    const [was, is] = [before?.[name], after?.[name]].map((value) =>
      value === undefined ? '-' : JSON.stringify(inUtc(name, value), inUtc),
    );
    return before === undefined ? `${name} ${is}` : `${name} ${was} → ${is}`;
  });
  return changes.join(', ') || '-';
}

/** Returns the value of a field, a time of it in UTC: what was recorded has the time zone of its account. */
function inUtc(name: string, value: unknown): unknown {
  if (!name.endsWith('_at') || typeof value !== 'string') return value;
  const instant = Date.parse(value);
  return Number.isNaN(instant) ? value : new Date(instant).toISOString();
}

/** Columns of traces: what the request itself took and came to, then the same of all of the trace. */
export function traceColumns(now: Now): Column<TraceSummary>[] {
  return [
    { title: 'trace', of: ({ trace_id }) => trace_id },
    { title: 'age', of: ({ started_at }) => age(started_at, now), isNumber: true },
    { title: 'ms', of: ({ request_duration_ms: ms }) => (ms === undefined ? '-' : milliseconds(ms)), isNumber: true },
    { title: 'status', of: ({ request_status }) => request_status ?? '-' },
    { title: 'all ms', of: ({ duration_ms }) => milliseconds(duration_ms), isNumber: true },
    { title: 'all', of: ({ status }) => status, rank: 1 },
    { title: 'spans', of: ({ spans }) => String(spans), isNumber: true, rank: 2 },
    { title: 'operation', of: ({ operation }) => operation ?? '-', min: 12 },
    { title: 'account', of: ({ account }) => account ?? '-', isBelow: true },
    { title: 'request', of: ({ request_id }) => request_id ?? '-', isBelow: true },
  ];
}
