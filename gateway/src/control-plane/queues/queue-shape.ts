import type { Queue, QueueShare } from '@customer-platform/contracts/accounts';
import type { MeasuredQueue, OwnerDepth, ProcessReport, ServiceName } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';
import type { Services } from '../services.ts';

/** Returns the queues of all services that reply, and the services that are gone. */
export async function readQueues(services: Services, now: Date): Promise<{ data: Queue[]; gone: ServiceName[] }> {
  const [{ replies, gone }, processes] = await Promise.all([
    services.askEach('measureQueues', {}),
    services.processes(),
  ]);
  const data = replies.flatMap(({ service, reply }) =>
    reply.queues.map((measured) => toQueue(service, measured, processes, now)),
  );
  return { data, gone };
}

/** Builds a queue from its service's measurement and the reports of its processes. */
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
    failed_waiting: measured.failedLater ?? null,
    dead,
    oldest_due_at: timestampOrNull(oldestAt),
    lag_seconds: Math.round(lagMs) / 1_000,
    paused: pauses.some(({ account, endpoint }) => !account && !endpoint),
    last_error: last?.lastError ?? null,
    last_error_at: timestampOrNull(last?.lastErrorAt),
    pauses: pauses.map((pause) => ({ ...pause, at: toTimestamp(pause.at) })),
    history: null,
  };
}

/** Builds the owners of a queue, deepest first, with their running entries. */
export function toOwners(
  measured: MeasuredQueue,
  owners: readonly OwnerDepth[],
  processes: readonly ProcessReport[],
  by: 'account' | 'endpoint',
): QueueShare[] {
  const nameOf = ({ account, endpoint }: { account: string; endpoint?: string | null | undefined }) =>
    `${account} ${by === 'endpoint' ? (endpoint ?? '') : ''}`;
  const reports = Map.groupBy(
    processes.flatMap((process) => process.owners),
    (owner) => nameOf(owner),
  );
  const runningOf = (name: string) => (reports.get(name) ?? []).reduce((sum, { running }) => sum + running, 0);
  const measuredOwners = owners.map((owner): QueueShare => {
    const running = runningOf(nameOf(owner));
    return {
      account: owner.account,
      endpoint: owner.endpoint,
      ready: owner.ready,
      running,
      waiting: waitingOf(measured, owner.later, running),
      failed_waiting: measured.failedLater === undefined ? null : (owner.failedLater ?? 0),
      dead: owner.dead,
      oldest_due_at: timestampOrNull(owner.oldestAt),
      last_error: owner.lastError,
      last_error_trace_id: owner.lastErrorTraceId ?? null,
      failing_since: timestampOrNull(owner.failingSince),
    };
  });
  for (const owner of owners) reports.delete(nameOf(owner));
  const others = [...reports].map(([name, [first]]): QueueShare => {
    const { account, endpoint } = first!;
    return {
      account,
      endpoint: by === 'endpoint' ? (endpoint ?? null) : null,
      ready: 0,
      running: runningOf(name),
      waiting: 0,
      failed_waiting: measured.failedLater === undefined ? null : 0,
      dead: 0,
      oldest_due_at: null,
      last_error: null,
      last_error_trace_id: null,
      failing_since: null,
    };
  });
  const depth = (owner: QueueShare) => owner.ready + owner.running + owner.waiting + owner.dead;
  return [...measuredOwners, ...others].sort((a, b) => depth(b) - depth(a)).slice(0, 100);
}

/** Returns the number of waiting entries. A running entry under a lease is also due later, when the lease expires. */
function waitingOf({ hasLeases }: MeasuredQueue, later: number, running: number): number {
  return hasLeases ? Math.max(0, later - running) : later;
}

/** Formats an instant as the control plane does. */
export function toTimestamp(instant: string): string {
  return formatInstant(new Date(instant), 'UTC');
}

export function timestampOrNull(instant: string | null | undefined): string | null {
  return instant ? toTimestamp(instant) : null;
}
