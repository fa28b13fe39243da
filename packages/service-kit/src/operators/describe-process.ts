import { hostname } from 'node:os';
import { describeProcess, type ProcessReport, type ServiceName } from '@customer-platform/contracts/core';
import type { Bus } from '../bus.ts';
import { type Database, poolUse, standsStillMs } from '../database.ts';
import { eventLoopLagMs } from '../event-loop.ts';
import type { Queues } from '../queues/queues.ts';
import type { RequestCount } from '../request-count.ts';
import { processInstance } from '../telemetry.ts';

/** Parts of a process that its description is made of. */
export interface DescribedProcess {
  service: ServiceName;
  version: string;
  sql: Database;
  bus: Bus;
  requests: RequestCount;
  queues: Queues;
}

/** Statements that have not ended for this long say that the database is waited for. */
const waitedForMs = 2_000;

/** Has this process describe itself to operators for as long as it is connected to the bus. */
export function describeItself({ service, version, sql, bus, requests, queues }: DescribedProcess): void {
  const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString();
  bus.handleAll(describeProcess, async ({ queue, pausesOf }): Promise<ProcessReport> => {
    if (pausesOf === service) await queues.pauses.refresh();
    return {
      service,
      instance: processInstance,
      version,
      startedAt,
      host: hostname(),
      inFlight: requests.underWay,
      eventLoopLagMs: eventLoopLagMs(),
      memoryBytes: process.memoryUsage.rss(),
      pool: poolUse(sql),
      migrations: queues.lastMigration,
      waitingFor: standsStillMs(sql) > waitedForMs ? 'PostgreSQL' : null,
      queues: queues.report(),
      owners: queue?.service === service ? [...queues.runningByOwner(queue.queue)] : [],
    };
  });
}
