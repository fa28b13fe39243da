import type { Queue, QueuePause, QueueShare } from '@customer-platform/contracts/accounts';
import type { MeasuredQueue, OwnerDepth, ProcessReport, ServiceName } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';

/** Makes a queue of what its service measured and what its processes say. */
export function toQueue(
  service: ServiceName,
  measured: MeasuredQueue,
  processes: readonly ProcessReport[],
  now: Date,
): Queue {
  const { queue, ready, later, dead, oldestAt, pauses } = measured;
  const reports = processes
    .filter((process) => process.service === service)
    .flatMap((process) => process.queues.filter((one) => one.queue === queue));
  const running = reports.reduce((sum, report) => sum + report.running, 0);
  const [last] = reports
    .filter(({ lastErrorAt }) => lastErrorAt !== null)
    .sort((a, b) => b.lastErrorAt!.localeCompare(a.lastErrorAt!));
  const lagMs = ready > 0 && oldestAt ? Math.max(0, now.getTime() - Date.parse(oldestAt)) : 0;
  return {
    service,
    queue,
    ready,
    running,
    waiting: waitingOf(measured, later, running),
    ...(measured.failedLater !== undefined && { failed_waiting: measured.failedLater }),
    dead,
    ...(oldestAt && { oldest_due_at: toTimestamp(oldestAt) }),
    lag_seconds: Math.round(lagMs) / 1_000,
    paused: pauses.some(({ account, endpoint }) => !account && !endpoint),
    ...(last && { last_error: last.lastError!, last_error_at: toTimestamp(last.lastErrorAt!) }),
    pauses: pauses.map(toPause),
  };
}

/** Makes the owners of a queue, deepest first, with what runs of each. */
export function toOwners(
  measured: MeasuredQueue,
  owners: readonly OwnerDepth[],
  processes: readonly ProcessReport[],
  by: 'account' | 'endpoint',
): QueueShare[] {
  const running = new Map<string, QueueShare>();
  const nameOf = (account: string, endpoint?: string | null) =>
    `${account} ${by === 'endpoint' ? (endpoint ?? '') : ''}`;
  for (const { account, endpoint, running: count } of processes.flatMap((process) => process.owners)) {
    const name = nameOf(account, endpoint);
    const none = {
      account,
      ...(by === 'endpoint' && endpoint && { endpoint }),
      ready: 0,
      running: 0,
      waiting: 0,
      dead: 0,
    };
    const owner = running.get(name) ?? none;
    running.set(name, { ...owner, running: owner.running + count });
  }
  const measuredOwners = owners.map((owner): QueueShare => {
    const name = nameOf(owner.account, owner.endpoint);
    const count = running.get(name)?.running ?? 0;
    running.delete(name);
    return {
      account: owner.account,
      ...(owner.endpoint && { endpoint: owner.endpoint }),
      ready: owner.ready,
      running: count,
      waiting: waitingOf(measured, owner.later, count),
      ...(measured.failedLater !== undefined && { failed_waiting: owner.failedLater ?? 0 }),
      dead: owner.dead,
      ...(owner.oldestAt && { oldest_due_at: toTimestamp(owner.oldestAt) }),
      ...(owner.lastError && { last_error: owner.lastError }),
      ...(owner.lastErrorTraceId && { last_error_trace_id: owner.lastErrorTraceId }),
      ...(owner.failingSince && { failing_since: toTimestamp(owner.failingSince) }),
    };
  });
  const depth = (owner: QueueShare) => owner.ready + owner.running + owner.waiting + owner.dead;
  return [...measuredOwners, ...running.values()].sort((a, b) => depth(b) - depth(a)).slice(0, 100);
}

/** Returns the entries that wait: those that run under a lease are due later too, at the end of it. */
function waitingOf({ hasLeases }: MeasuredQueue, later: number, running: number): number {
  return hasLeases ? Math.max(0, later - running) : later;
}

function toPause({ account, endpoint, reason, actor, at }: MeasuredQueue['pauses'][number]): QueuePause {
  return { ...(account && { account }), ...(endpoint && { endpoint }), reason, actor, at: toTimestamp(at) };
}

/** Writes an instant as the control plane does. */
export function toTimestamp(instant: string): string {
  return formatInstant(new Date(instant), 'UTC');
}
