import { hostname } from 'node:os';
import { describeProcess, type ProcessReport, type ServiceName } from '@customer-platform/contracts/core';
import type { Bus } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import type { Connections } from '../fairness/fair-permits.ts';
import type { Queues } from '../queues/queues.ts';
import { eventLoopLagMs } from '../telemetry/event-loop.ts';
import { processInstance, processStartedAt } from '../telemetry/telemetry.ts';

/** Dependencies of a process besides PostgreSQL, by the names that operators see. Each returns whether it is unavailable. */
export type Dependencies = Map<string, () => boolean>;

/** Parts of a process that its description covers. */
interface DescribedProcess {
  service: ServiceName;
  version: string;
  sql: Database;
  bus: Bus;
  connections: Connections;
  queues: Queues;
  dependencies: Dependencies;
}

/** Time without a completed query after which the process counts as waiting for the database. */
const stalledMs = 2_000;

/** Makes this process describe itself to operators while it is connected to the bus. */
export async function describeItself(described: DescribedProcess): Promise<void> {
  const { service, version, sql, bus, connections, queues, dependencies } = described;
  const [last] = await sql<{ name: string }[]>`select name from migrations order by applied_at desc, name desc limit 1`;
  bus.handleAll(describeProcess, async ({ queue, pausesOf }): Promise<ProcessReport> => {
    if (pausesOf === service) await queues.pauses.refresh();
    const unavailable = [...dependencies].filter(([, isUnavailable]) => isUnavailable()).map(([name]) => name);
    const waitingFor = [...(sql.pool.stalledMs > stalledMs ? ['PostgreSQL'] : []), ...unavailable];
    return {
      service,
      instance: processInstance,
      version,
      startedAt: processStartedAt,
      host: hostname(),
      pid: process.pid,
      inFlight: connections.requestsUnderWay,
      eventLoopLagMs: eventLoopLagMs(),
      memoryBytes: process.memoryUsage.rss(),
      pool: sql.pool.use,
      migrations: last?.name ?? '',
      waitingFor: waitingFor.join(', ') || null,
      queues: queues.report(),
      owners: queue?.service === service ? [...queues.runningByOwner(queue.queue)] : [],
    };
  });
}
