import { accountUpdated, getAccountContext, type ServiceName } from '@customer-platform/contracts/core';
import { Bus } from '../bus/bus.ts';
import { ClockWork } from '../clocks/clock-work.ts';
import type { Clocks } from '../clocks/clocks.ts';
import type { Database } from '../database/database.ts';
import { DueWatch } from '../due-work/due-watch.ts';
import { AccountDirectory } from '../jobs/account-directory.ts';
import { Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import type { BaseConfig } from '../values/config.ts';

/** Parts that others are opened with. */
interface Parts {
  sql: Database;
  bus: Bus;
  log: Logger;
  /** The real time. */
  clock: () => Date;
  clocks: Clocks;
  config: BaseConfig;
}

/** Opens the accounts that this process may ask the gateway for, and has them forgotten as they change. */
export function openAccounts(bus: Bus): AccountDirectory {
  const accounts = new AccountDirectory(async (id) => (await bus.ask(getAccountContext, id, {})).account);
  bus.follow(
    accountUpdated,
    (id) => accounts.forget(id),
    () => accounts.forget('all'),
  );
  return accounts;
}

/**
 * Connects a process to its bus; what it asks of others says how far the clock of the account is. Waits 2 s at most for NATS.
 */
export function openBus(service: ServiceName, config: BaseConfig, { log, clocks }: Pick<Parts, 'log' | 'clocks'>) {
  const { BUS_PREFIX: prefix, BUS_REQUEST_TIMEOUT_MS: requestTimeoutMs } = config;
  const aheadOf = (accountId: string) => clocks.aheadOf(accountId);
  return Bus.connect(config.NATS_URL, {
    prefix,
    service,
    log,
    requestTimeoutMs,
    files: config,
    stream: config,
    aheadOf,
  });
}

/** Opens what every process knows of its service's due work. */
export async function openDueWork({ sql, bus, log, clock, clocks, config }: Parts) {
  const queues = await Queues.open(sql, bus, { log, clock });
  const clockWork = new ClockWork(sql, { clocks, pauses: queues.pauses, log });
  const watch = new DueWatch(sql, { bus, clock, log, everyMs: config.DUE_LOOK_SECONDS * 1_000 });
  return { queues, clockWork, watch };
}
