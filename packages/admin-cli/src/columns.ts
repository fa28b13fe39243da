import type { Queue, QueuePause, QueueShare } from '@customer-platform/contracts/accounts';
import type { Body, OperationKey } from './control-plane-client.ts';
import type { Columns } from './table.ts';
import { age, duration, milliseconds } from './text.ts';

/** A list or a page of a list from the control plane. The entries of services in `gone` are missing. */
export interface List<Entry> {
  data: Entry[];
  has_more?: boolean;
  next?: string | null;
  gone?: string[];
}

/** An entry of an operation's list. */
export type EntryOf<Key extends OperationKey> = Body<Key> extends List<infer Entry> ? Entry : never;

/** Columns whose titles are the names of their fields. */
const same = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, name])) as { [Each in Name]: Each };

const depthColumns = {
  ready: 'ready',
  run: 'running',
  wait: 'waiting',
  failed: 'failed_waiting',
  dead: 'dead',
} as const;

export const queueColumns: Columns<Omit<Queue, 'history'>> = {
  service: 'service',
  queue: 'queue',
  ...depthColumns,
  lag: lagOf,
  paused: ({ paused, pauses }) => (paused ? 'all' : pauses[0] && 'part'),
  error: errorText,
};

/** Columns of lists by operation. A list without an entry here has a column per field. */
export const listColumns: { [Key in OperationKey]?: Columns<EntryOf<Key>> } = {
  listQueues: queueColumns,
  listDeadEvents: {
    id: 'id',
    age: since('dead_at'),
    ...same('service', 'queue'),
    tries: 'tries',
    bytes: 'size_bytes',
    kind: ({ kind, subject }) => kind ?? subject,
    ...same('account', 'reason'),
  },
  listEndpoints: {
    id: 'id',
    failing: since('failing_since'),
    pending: 'pending',
    paused: ({ paused }) => (paused ? 'yes' : undefined),
    off: ({ active, disabled_reason }) => (active ? undefined : (disabled_reason ?? 'yes')),
    url: 'url',
    account: 'account',
    error: errorText,
  },
  listKeys: {
    ...same('id', 'name', 'last4', 'mode'),
    ended: ({ revoked_at, expires_at }, now) => {
      const end = revoked_at ?? expires_at;
      return end && age(end, now).replace(/^(?!in).*/, '$& ago');
    },
    rate: ({ rate_limit }) => rate_limit && `${rate_limit.per_minute}/min`,
    used: since('last_used_at'),
    created: 'created_at',
    from: 'allowed_addresses',
    scopes: 'scopes',
  },
  listServices: {
    ...same('service', 'pid', 'host'),
    up: since('started_at'),
    'waiting for': 'waiting_for',
    'loop ms': ({ event_loop_lag_ms }) => milliseconds(event_loop_lag_ms),
    MiB: ({ memory_bytes }) => String(Math.round(memory_bytes / 1_048_576)),
    pool: ({ pool }) => `${pool.used}/${pool.size}${pool.waiting > 0 ? `+${pool.waiting}` : ''}`,
    version: 'version',
    requests: 'in_flight',
    migration: 'migrations',
    refused: ({ refused }) => refused.map(({ route, reason }) => `${route ?? 'all'}: ${reason}`).join('; '),
  },
  listAudit: {
    age: since('at'),
    ...same('actor', 'action', 'target'),
    at: 'at',
    ...same('account', 'reason'),
    change: ({ before, after }) =>
      [before, after]
        .filter((fields) => fields !== null)
        .map((fields) => JSON.stringify(fields, inUtc))
        .join(' → '),
  },
  // Duration and status of the request itself, then of the whole trace.
  listTraces: {
    trace: 'trace_id',
    age: since('started_at'),
    ms: ({ request_duration_ms: ms }) => (ms === null ? undefined : milliseconds(ms)),
    status: 'request_status',
    operation: ({ operation, request }) => operation ?? request,
    'all ms': ({ duration_ms }) => milliseconds(duration_ms),
    all: 'status',
    spans: 'spans',
    code: 'status_code',
    error: 'error_code',
    at: 'started_at',
    account: 'account',
    request: 'request_id',
  },
};

/** Names of the entries of lists that can lack the entries of gone services. */
export const entryNames: { [Key in OperationKey]?: string } = {
  listQueues: 'queues',
  listDeadEvents: 'dead events',
  listEndpoints: 'endpoints',
  listServices: 'processes',
};

/** Columns of a queue's shares, by endpoint if they have one, or else by account. */
export function partColumns(parts: readonly QueueShare[]): Columns<QueueShare> {
  const by = parts.some(({ endpoint }) => endpoint !== null) ? 'endpoint' : 'account';
  return {
    [by]: by,
    ...depthColumns,
    failing: since('failing_since'),
    oldest: since('oldest_due_at'),
    account: 'account',
    error: 'last_error',
  };
}

function since<Field extends string>(field: Field) {
  return (row: { [Name in Field]: string | null }, now: Date) => row[field] && age(row[field], now);
}

/** Returns a queue's lag as a duration; undefined for no lag. */
export function lagOf({ lag_seconds }: Pick<Queue, 'lag_seconds'>): string | undefined {
  return lag_seconds > 0 ? duration(lag_seconds) : undefined;
}

/** Returns the last error with its age, since an old error may be over. */
function errorText({ last_error, last_error_at }: Pick<Queue, 'last_error' | 'last_error_at'>, now: Date) {
  return last_error && last_error_at ? `${age(last_error_at, now)} ago: ${last_error}` : last_error;
}

/** Returns a pause's scope, actor, age and reason. */
export function pauseText({ account, endpoint, reason, actor, at }: QueuePause, now: Date): string {
  const parts = [account && `account ${account}`, endpoint && `endpoint ${endpoint}`].filter(Boolean);
  return `${parts.join(', ') || 'whole queue'}, by ${actor} ${age(at, now)} ago: ${reason}`;
}

/** A JSON replacer that converts times to UTC. Recorded times have the offset of their account. */
function inUtc(name: string, value: unknown): unknown {
  return name.endsWith('_at') && typeof value === 'string' ? new Date(value).toISOString() : value;
}
