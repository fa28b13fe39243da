import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  accountUpdated,
  getAccountContext,
  moveClock,
  type ServiceIn,
  type ServiceName,
} from '@customer-platform/contracts/core';
import type { Express } from 'express';
import type { z } from 'zod';
import { Bus } from '../bus/bus.ts';
import { ClockWork } from '../clocks/clock-work.ts';
import { Clocks } from '../clocks/clocks.ts';
import type { Consumer } from '../consumers/consumer.ts';
import { startConsumer, startRetries } from '../consumers/consumers.ts';
import { checkSessionSettings, openDatabase } from '../database/database.ts';
import { kitMigrations, migrate } from '../database/schema/migrate.ts';
import { type PartitionedTable, PartitionKeeper } from '../database/schema/partitions.ts';
import { DueWatch } from '../due-work/due-watch.ts';
import { Connections } from '../fairness/fair-permits.ts';
import { contextHeader, contextReader } from '../http/account-context.ts';
import { type Health, healthServer, isDatabaseResponsive } from '../http/health.ts';
import { createApp, type Listener, listen } from '../http/listener.ts';
import { sendErrorEnvelopes } from '../http/responses.ts';
import { AccountDirectory } from '../jobs/account-directory.ts';
import { type Job, startJob, type WorkContext } from '../jobs/jobs.ts';
import { type BoundRequest, handleRequests, type RepliesTo } from '../jobs/requests.ts';
import { bindOperations } from '../operations/bind-operations.ts';
import type { BoundOperation, Implements } from '../operations/operation.ts';
import { announce } from '../operators/announce-operations.ts';
import { type Dependencies, describeItself } from '../operators/describe-process.ts';
import { handleOperatorRequests } from '../operators/handle-operator-requests.ts';
import { OutboxRelay } from '../outbox/outbox-relay.ts';
import { Queues } from '../queues/queues.ts';
import { createLogger } from '../telemetry/logging.ts';
import { processInstance, startTelemetry } from '../telemetry/telemetry.ts';
import { type BaseConfig, type baseConfig, readConfig } from '../values/config.ts';
import { observeProcess } from './process-metrics.ts';
import { endIfMigrationOnly, type Running } from './run-process.ts';
import { forgetOldRecords, inboxByDay, republishEvents, resumeSetAside } from './upkeep.ts';

/** The parts of every process, which exist before its service's own. */
export interface Foundation<Config extends BaseConfig = BaseConfig>
  extends Omit<WorkContext<undefined>, 'resources' | 'watch'> {
  config: Config;
  bus: Bus;
  watch: DueWatch;
  connections: Connections;
  health: Health;
  /** Dependencies that the process reports to operators while they are unavailable. */
  dependencies: Dependencies;
}

/** The definition of one service, complete by its contract. */
export interface ServiceDefinition<Contract, Schema extends z.ZodObject = typeof baseConfig, Resources = undefined>
  extends Startable<Schema, Resources> {
  name: ServiceIn<Contract>;
  operations: Implements<Contract, Resources>;
  requests: RepliesTo<Contract, Resources>;
}

/** A service of any contract. */
interface Startable<Schema extends z.ZodObject, Resources> {
  name: ServiceName;
  config: Schema;
  /** The directory of the service's own migrations. */
  migrations: URL;
  /** The service's tables that are partitioned by time, and how long they keep rows. */
  partitions?(config: z.output<Schema> & BaseConfig): readonly PartitionedTable[];
  operations: Readonly<Record<string, BoundOperation<Resources>>>;
  requests: Readonly<Record<string, BoundRequest<Resources>>>;
  /** Adds routes besides operations. Their requests have no signed context. */
  addRoutes?(app: Express, context: WorkContext<Resources> & { connections: Connections }): void;
  consumers?: readonly Consumer<Resources>[];
  jobs?: readonly Job<Resources>[];
  /**
   * Makes the resources that handlers share. `endResponses` ends open-ended responses when the process drains. `stop` ends what this function
   * started, after requests, consumers and jobs have ended.
   */
  resources?(foundation: Foundation<z.output<Schema> & BaseConfig>): Promise<Resources & Endings>;
}

interface Endings {
  endResponses?(): void;
  stop?(): Promise<void>;
}

/** A loop over due work, as handlers see it. They wake it after a commit that makes work due. */
export interface Worker {
  wake(): void;
}

const directUrlMissing =
  'Settings are missing or wrong:\n  DATABASE_DIRECT_URL: is required with DATABASE_POOLER=transaction: the URL of the same role without the pooler, for migrations';

/**
 * Starts the parts of every process: settings, log, telemetry, migrated database, bus, relay. `migrations` is the directory of the service's own
 * migrations; `partitions` lists its tables partitioned by time. `stop` ends the parts in the right order.
 */
export async function startFoundation<Config extends BaseConfig>(
  name: ServiceName,
  config: Config,
  {
    migrations,
    partitions = [],
    clock,
  }: { migrations: URL; partitions?: readonly PartitionedTable[] | undefined; clock: () => Date },
) {
  const log = createLogger(name, config.LOG_LEVEL);
  const { version } = JSON.parse(await readFile(new URL('../package.json', migrations), 'utf8')) as {
    version: string;
  };
  const stopTelemetry = await startTelemetry(config.OTEL_EXPORTER_OTLP_ENDPOINT, { service: name, version, log });
  const isPooled = config.DATABASE_POOLER === 'transaction';
  if (isPooled && !config.DATABASE_DIRECT_URL) throw new Error(directUrlMissing);
  await migrate(config.DATABASE_DIRECT_URL ?? config.DATABASE_URL, name, [kitMigrations, migrations], (waiting) =>
    log.warn(waiting, 'the schema is not up to date yet; the migration is retried'),
  );
  endIfMigrationOnly(name);
  const sql = openDatabase(config.DATABASE_URL, { pool: config.DATABASE_POOL, service: name, isPooled });
  if (isPooled) await checkSessionSettings(sql, name);
  observeProcess(sql);
  const keeper = new PartitionKeeper(sql, [inboxByDay, ...partitions], log);
  await keeper.start();
  const clocks = new Clocks(clock);
  const bus = await Bus.connect(config.NATS_URL, {
    prefix: config.BUS_PREFIX,
    service: name,
    log,
    requestTimeoutMs: config.BUS_REQUEST_TIMEOUT_MS,
    settings: config,
    aheadOf: (accountId) => clocks.aheadOf(accountId),
  });
  // Before the clocks are read, so that no move in between is missed.
  bus.onReconnect(() => clocks.refresh());
  bus.handleAll(moveClock, async ({ account, aheadMs }) => {
    await clocks.move(sql, account, aheadMs);
    return { service: name, instance: processInstance };
  });
  await clocks.start(sql, log);
  const queues = await Queues.open(sql, bus, { log, clock });
  const clockWork = new ClockWork(sql, { clocks, pauses: queues.pauses, log });
  const watch = new DueWatch(sql, { bus, clock, log, everyMs: config.DUE_LOOK_SECONDS * 1_000 });
  const relay = new OutboxRelay(sql, { bus, log, queues, watch });
  const accounts = new AccountDirectory(async (id) => (await bus.ask(getAccountContext, id, {})).account);
  bus.follow(
    accountUpdated,
    (id) => accounts.forget(id),
    () => accounts.forget('all'),
  );
  const connections = new Connections(sql.options.max, () => sql.pool.stalledMs);
  const dependencies: Dependencies = new Map();
  const health: Health = {
    service: name,
    version,
    isAlive: () => isDatabaseResponsive(sql, config.DATABASE_DIRECT_URL),
  };
  const foundation: Foundation<Config> = {
    config,
    log,
    sql,
    bus,
    clock: clocks.now,
    clocks,
    queues,
    clockWork,
    watch,
    eventsCommitted: () => relay.wake(),
    accounts,
    connections,
    health,
    dependencies,
  };
  const work = { ...foundation, resources: undefined };
  handleRequests(bus, handleOperatorRequests({ service: name, queues, clockWork, log }), work);
  await describeItself({ ...foundation, service: name, version });
  const upkeep = [forgetOldRecords, republishEvents, resumeSetAside].map((job) => startJob(job, work));
  const stop = async () => {
    await Promise.all([...upkeep, clockWork, keeper, relay, watch, queues, clocks].map((running) => running.stop()));
    await bus.close();
    await sql.end({ timeout: 5 });
    await stopTelemetry();
  };
  return { foundation, stop };
}

/** Starts a service from its definition. Throws if settings are wrong or the database cannot be migrated. */
export async function startService<Schema extends z.ZodObject, Resources>(
  definition: Startable<Schema, Resources>,
  env: NodeJS.ProcessEnv,
  options: { clock?: () => Date } = {},
): Promise<Running> {
  const { name, consumers = [], jobs = [] } = definition;
  const config = readConfig(definition.config, env) as z.output<Schema> & BaseConfig;
  const { foundation, stop } = await startFoundation(name, config, {
    migrations: definition.migrations,
    partitions: definition.partitions?.(config),
    clock: options.clock ?? (() => new Date()),
  });
  const { log, sql, bus, health, queues, clockWork } = foundation;
  const resources = ((await definition.resources?.(foundation)) ?? undefined) as Resources & Endings;
  const work = { ...foundation, resources };
  const readContext = contextReader(config.CONTEXT_SECRET, name);
  const app = createApp();
  let isStopping = false;
  const serveHealth = healthServer(health, () => !isStopping);
  app.use((request, response, next) => {
    if (!serveHealth(request, response)) next();
  });
  bindOperations(app, Object.values(definition.operations), {
    ...work,
    authenticate: ({ headers, method, originalUrl }) =>
      readContext(headers[contextHeader] as string | undefined, method, originalUrl, Date.now()),
  });
  definition.addRoutes?.(app, work);
  sendErrorEnvelopes(app, log);
  handleRequests(bus, Object.values(definition.requests), work);
  const retries = startRetries(bus, consumers, work);
  const retriesOf = (queue: string) =>
    retries.runningRows.filter((row) => row.queue === queue).map((row) => ({ account: row.account_id, running: 1 }));
  // Bypasses a pooler, since the lock of a lease belongs to its session.
  const openSession = () =>
    openDatabase(config.DATABASE_DIRECT_URL ?? config.DATABASE_URL, { pool: 1, service: name, isLasting: true });
  const taking = consumers.map((consumer) => startConsumer(bus, consumer, { ...work, retriesOf, openSession }));
  for (const queue of new Set(jobs.flatMap((job) => job.queue ?? []))) queues.open(queue);
  const longTimeouts = jobs.flatMap(({ statementMs }) => statementMs ?? []);
  const longRunningSql = openDatabase(config.DATABASE_URL, {
    // Rounds by sandbox clocks and rounds by real time do not wait for each other.
    pool: longTimeouts.length * 2,
    service: name,
    statementMs: Math.max(0, ...longTimeouts),
    isPooled: sql.isPooled,
  });
  const running = jobs.map((job) => startJob(job, job.statementMs ? { ...work, sql: longRunningSql } : work));
  const listener = await listen(app, config.PORT, config.HOST);
  log.info({ url: listener.url }, 'listening');
  const operations = Object.values(definition.operations).map(({ operation }) => operation);
  const stopAnnouncing = announce(bus, { service: name, version: health.version, operations });
  return {
    url: listener.url,
    async stop() {
      isStopping = true;
      stopAnnouncing();
      await drained([listener, { close: async () => resources?.endResponses?.() }], config);
      const stopped = Promise.all([...taking, retries, ...running, clockWork].map((part) => part.stop()));
      // Cuts off rounds whose statements may take minutes. They roll back, and another process repeats them.
      await longRunningSql.end({ timeout: 3 });
      await stopped;
      await resources?.stop?.();
      await stop();
    },
  };
}

/**
 * Closes listeners that no longer report ready. They serve for another DRAIN_DELAY_SECONDS, while balancers and clients move to other processes.
 * Then accepted requests get at most DRAIN_SECONDS.
 */
export async function drained(
  listeners: readonly (Pick<Listener, 'close'> & Partial<Pick<Listener, 'drain'>>)[],
  { DRAIN_DELAY_SECONDS, DRAIN_SECONDS }: Pick<BaseConfig, 'DRAIN_DELAY_SECONDS' | 'DRAIN_SECONDS'>,
): Promise<void> {
  for (const listener of listeners) listener.drain?.();
  await sleep(DRAIN_DELAY_SECONDS * 1_000);
  await Promise.all(listeners.map((listener) => listener.close(DRAIN_SECONDS * 1_000)));
}
