import { adminOperations, type LiveProcess } from '@customer-platform/contracts/accounts';
import { type ProcessReport, serviceNames } from '@customer-platform/contracts/core';
import type { AnnouncedOperations } from '../../routes/announced-operations.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';

/** Lists every process that replies, by service. */
export const listServices = implement(adminOperations.listServices, {
  async handle({ resources: { services, routes } }) {
    const processes = await services.processes();
    const place = ({ service }: ProcessReport) => serviceNames.indexOf(service);
    const data = processes
      .sort((a, b) => place(a) - place(b) || a.startedAt.localeCompare(b.startedAt))
      .map((report) => toProcess(report, routes));
    return { data, gone: serviceNames.filter((name) => !processes.some(({ service }) => service === name)) };
  },
});

function toProcess(report: ProcessReport, routes: AnnouncedOperations): LiveProcess {
  const { service, instance, version, host, pid, pool, migrations } = report;
  return {
    service,
    instance,
    version,
    started_at: toTimestamp(report.startedAt),
    host,
    pid: pid ?? null,
    in_flight: report.inFlight,
    event_loop_lag_ms: report.eventLoopLagMs,
    memory_bytes: report.memoryBytes,
    pool,
    migrations,
    waiting_for: report.waitingFor,
    refused: [...routes.refusedOf(service, instance)],
  };
}
