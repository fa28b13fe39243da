import { adminOperations, type LiveProcess } from '@customer-platform/contracts/accounts';
import { serviceNames } from '@customer-platform/contracts/core';
import type { Cells } from '../../cells/cells.ts';
import type { AnnouncedOperations } from '../../routes/announced-operations.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';
import type { PlacedProcess } from '../services.ts';

/** Lists every process that replies, by service. */
export const listServices = implement(adminOperations.listServices, {
  async handle({ resources: { cells, services, routes } }) {
    const processes = await services.processes();
    const place = ({ service }: PlacedProcess) => serviceNames.indexOf(service);
    const data = processes
      .sort((a, b) => place(a) - place(b) || a.startedAt.localeCompare(b.startedAt))
      .map((report) => toProcess(report, cells, routes));
    const gone = services
      .places()
      .filter((wanted) => !processes.some(({ cell, service }) => cell === wanted.cell && service === wanted.service));
    return { data, ...services.shownGone(gone) };
  },
});

function toProcess(report: PlacedProcess, cells: Cells, routes: AnnouncedOperations): LiveProcess {
  const { service, instance, version, host, pid, pool, migrations } = report;
  const refused = routes.refusedOf(service, instance).map((each) => ({ ...each }));
  return {
    ...cells.shown({ service, cell: report.cell }),
    instance,
    version,
    started_at: toTimestamp(report.startedAt),
    host,
    ...(pid !== undefined && { pid }),
    in_flight: report.inFlight,
    event_loop_lag_ms: report.eventLoopLagMs,
    memory_bytes: report.memoryBytes,
    pool,
    migrations,
    ...(report.waitingFor && { waiting_for: report.waitingFor }),
    ...(refused.length > 0 && { refused }),
  };
}
