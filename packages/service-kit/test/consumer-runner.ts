import type { Platform } from '@customer-platform/testkit';
import { Bus } from '../src/bus/bus.ts';
import type { ReceivedEvent } from '../src/bus/consume-loop.ts';
import { ClockWork } from '../src/clocks/clock-work.ts';
import { Clocks } from '../src/clocks/clocks.ts';
import type { Consumer } from '../src/consumers/consumer.ts';
import { startConsumer, startRetries } from '../src/consumers/consumers.ts';
import type { Sql } from '../src/database/database.ts';
import { DueWatch } from '../src/due-work/due-watch.ts';
import { AccountDirectory } from '../src/jobs/account-directory.ts';
import type { WorkContext } from '../src/jobs/jobs.ts';
import { Queues } from '../src/queues/queues.ts';
import { createLogger } from '../src/telemetry/logging.ts';

const log = createLogger('test', 'silent');

/**
 * Returns a function that runs a consumer for one kind of the CDP's internal events while `test` runs. The consumer calls `take` in a transaction
 * of the CRM's database. `tick` moves its clock and retries failed events.
 */
export function consumerRunner(platform: () => Platform) {
  return async function withConsumer(
    kind: string,
    take: (events: ReceivedEvent<{ n: number }>[], tx: Sql) => void | Promise<void>,
    test: (tick: (ms: number) => void) => Promise<void>,
  ) {
    let nowMs = Date.now();
    const { NATS_URL, BUS_PREFIX } = platform().env('crm');
    const sql = platform().database('crm');
    const bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'crm', log });
    const consumer: Consumer<undefined> = {
      name: kind,
      filter: { audience: 'internal', service: 'cdp', kind },
      batchSize: 50,
      async take({ tx }, events) {
        await take(events as ReceivedEvent<{ n: number }>[], tx);
      },
    };
    const clocks = new Clocks(() => new Date(nowMs));
    const clock = clocks.now;
    const queues = await Queues.open(sql, bus, { log, clock });
    const clockWork = new ClockWork(sql, { clocks, pauses: queues.pauses, log });
    const watch = new DueWatch(sql, { bus, clock: clocks.real, log, everyMs: 50 });
    const work: WorkContext<undefined> = {
      sql,
      log,
      clock,
      clocks,
      clockWork,
      resources: undefined,
      accounts: new AccountDirectory(async () => null),
      queues,
      watch,
      eventsCommitted: () => undefined,
    };
    const running = startConsumer(bus, consumer, { ...work, retriesOf: () => [], openSession: () => sql });
    const retries = startRetries(bus, [consumer], work);
    try {
      await test((ms) => {
        nowMs += ms;
        retries.wake();
      });
    } finally {
      for (const one of [running, retries, watch, clockWork, queues]) await one.stop();
      await sql`delete from failed_events where queue = ${kind}`;
      await bus.close();
    }
  };
}
