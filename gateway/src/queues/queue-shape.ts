import type { Queue, QueuePause, QueueShare } from '@customer-platform/contracts/accounts';
import type { MeasuredQueue, MeasuredShare, ProcessReport, ServiceName } from '@customer-platform/contracts/core';
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
    dead,
    ...(oldestAt && { oldest_due_at: toTimestamp(oldestAt) }),
    lag_seconds: Math.round(lagMs) / 1_000,
    paused: pauses.some(({ account, endpoint }) => !account && !endpoint),
    ...(last && { last_error: last.lastError!, last_error_at: toTimestamp(last.lastErrorAt!) }),
    pauses: pauses.map(toPause),
  };
}

/** Makes the shares of a queue, deepest first, with what runs of each. */
export function toShares(
  measured: MeasuredQueue,
  shares: readonly MeasuredShare[],
  processes: readonly ProcessReport[],
  by: 'account' | 'endpoint',
): QueueShare[] {
  const running = new Map<string, QueueShare>();
  const nameOf = (account: string, endpoint?: string | null) =>
    `${account} ${by === 'endpoint' ? (endpoint ?? '') : ''}`;
  for (const { account, endpoint, running: count } of processes.flatMap((process) => process.shares)) {
    const name = nameOf(account, endpoint);
    const none = {
      account,
      ...(by === 'endpoint' && endpoint && { endpoint }),
      ready: 0,
      running: 0,
      waiting: 0,
      dead: 0,
    };
    const share = running.get(name) ?? none;
    running.set(name, { ...share, running: share.running + count });
  }
  const measuredShares = shares.map((share): QueueShare => {
    const name = nameOf(share.account, share.endpoint);
    const count = running.get(name)?.running ?? 0;
    running.delete(name);
    return {
      account: share.account,
      ...(share.endpoint && { endpoint: share.endpoint }),
      ready: share.ready,
      running: count,
      waiting: waitingOf(measured, share.later, count),
      dead: share.dead,
      ...(share.oldestAt && { oldest_due_at: toTimestamp(share.oldestAt) }),
      ...(share.lastError && { last_error: share.lastError }),
      ...(share.failingSince && { failing_since: toTimestamp(share.failingSince) }),
    };
  });
  const depth = (share: QueueShare) => share.ready + share.running + share.waiting + share.dead;
  return [...measuredShares, ...running.values()].sort((a, b) => depth(b) - depth(a)).slice(0, 100);
}

/** What runs under a lease is due later, at the end of it. */
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
