import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@customer-platform/testkit';
import postgres, { type Sql } from 'postgres';
import { childrenOf, signalAll } from '../processes.ts';
import type { Fault } from './fault.ts';
import { contactOf } from './load.ts';

/** Each second of the slow database: how long PostgreSQL is stopped, and how long it runs. */
const stoppedMs = 800;
const runsMs = 200;
const dayMs = 24 * 3_600_000;

/** Holds a lock in a forgotten transaction. */
export const forgottenLock: Fault = {
  name: 'lock',
  what: "a forgotten transaction holds a lock on webhooks' events",
  alerts: [{ name: 'ConsumerLag', labels: { job: 'webhooks', queue: 'public-events' } }],
  async cause({ platform, admin, say }) {
    const sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
    const end = await holdLock(sql, 'webhooks.events', 'access exclusive');
    return {
      async remedy() {
        await admin('queues', 'show', 'webhooks', 'public-events');
        say('psql: select pg_terminate_backend of the session that blocks the others');
        await endBlockers(sql);
        await admin('queues', 'retry', 'webhooks', 'public-events');
      },
      end,
    };
  },
};

/** Blocks the creation of a table's partitions, as an index build does that waits for an old transaction. */
export const noPartitions: Fault = {
  name: 'partitions',
  what: "a session blocks the creation of partitions of catalogue's inbox, which end tomorrow",
  alerts: [{ name: 'PartitionsEnding', labels: { job: 'catalogue' } }],
  async cause({ platform, admin, say }) {
    const sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
    await endPartitions(sql);
    const end = await holdLock(sql, 'catalogue.inbox', 'share update exclusive');
    // The service checks partitions once a minute, which is long at the scaled rules. A restart checks at once.
    platform.kill('catalogue');
    return {
      async remedy() {
        await waitFor('catalogue to run', async () => !(await admin('services')).gone.includes('catalogue'));
        await admin('queues', 'list');
        say('psql: select pg_terminate_backend of the session that blocks the others');
        await waitFor('a service to wait for the lock', () => endBlockers(sql).then(() => true));
      },
      async prove() {
        const { length } = await partitionsBeside(sql, 'inbox_before');
        if (length < 12) throw new Error(`only ${length} partitions after tomorrow exist, expected at least 12`);
      },
      end,
    };
  },
};

/** Makes the partitions of catalogue's inbox end tomorrow, as if none had been created for two weeks. In a new installation the first one holds a week. */
async function endPartitions(sql: Sql): Promise<void> {
  const names = await partitionsBeside(sql, 'inbox_before');
  const end = (Math.floor(Date.now() / dayMs) + 2) * dayMs;
  const hex = end.toString(16).padStart(12, '0');
  const firstId = `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
  await sql.begin(async (tx) => {
    for (const name of names) await tx`drop table ${tx(`catalogue.${name}`)}`;
    await tx`alter table catalogue.inbox detach partition catalogue.inbox_before`;
    await tx.unsafe(`
      alter table catalogue.inbox attach partition catalogue.inbox_before for values from (minvalue) to ('${firstId}')`);
  });
}

async function partitionsBeside(sql: Sql, partition: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_inherits join pg_class on oid = inhrelid
    where inhparent = 'catalogue.inbox'::regclass and relname <> ${partition}`;
  return rows.map(({ name }) => name);
}

/** Locks a table in a session until the session ends or the returned function is called, which also ends `sql`. */
async function holdLock(sql: Sql, table: string, mode: string): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = sql
    .begin(async (tx) => {
      await tx.unsafe(`lock table ${table} in ${mode} mode`);
      locked.resolve();
      await released.promise;
    })
    .catch(locked.reject); // the remedy terminates its connection
  await locked.promise;
  return async () => {
    released.resolve();
    await holding;
    await sql.end({ timeout: 5 });
  };
}

/** Terminates sessions that block others and are not blocked themselves. Throws if none exists. */
async function endBlockers(sql: Sql): Promise<void> {
  const ended = await sql`
    select pg_terminate_backend(blocker) from (
      select distinct unnest(pg_blocking_pids(pid)) as blocker from pg_stat_activity) as blockers
    where not exists (select from pg_locks where pid = blocker and not granted)`;
  if (ended.count === 0) throw new Error('no session blocks others');
}

const unaccountedPage = join(import.meta.dirname, '../../docs/runbooks/deliveries-unaccounted.md');

/** Deletes a delivery before its first attempt, as a manual change of rows would. */
export const deletedDelivery: Fault = {
  name: 'row',
  what: 'a due delivery is deleted by hand',
  alerts: [{ name: 'DeliveriesUnaccounted', labels: { job: 'webhooks' } }],
  async cause({ platform, admin, receiver, say }) {
    const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
    await admin('queues', 'pause', 'webhooks', 'deliveries', '--reason', 'a drill deletes a row');
    const [row] = await sql<{ now: Date }[]>`select now()`;
    const contact = await waitFor('a delivery to be due', () => deleteDelivery(sql, row!.now));
    await admin('queues', 'resume', 'webhooks', 'deliveries');
    const hasCome = () => receiver.received.some((request) => contactOf(request) === contact);
    return {
      async remedy() {
        await admin('services');
        await admin('audit');
        if (hasCome()) throw new Error('the webhook came although its delivery was deleted');
        const statement = readFileSync(unaccountedPage, 'utf8').split('```sql\n')[1]!.split('```')[0]!;
        say('psql: the query of the runbook, which creates missing deliveries');
        await sql.unsafe(`set role platform_webhooks; ${statement}; reset role`);
        await admin('queues', 'retry', 'webhooks', 'deliveries');
      },
      prove: async () => void (await waitFor('the webhook whose delivery was deleted', hasCome)),
      end: () => sql.end({ timeout: 5 }),
    };
  },
};

/** Deletes a delivery created since a time, if one exists. Returns its event's contact. */
async function deleteDelivery(sql: Sql, since: Date): Promise<string | undefined> {
  const [deleted] = await sql<{ contact: string }[]>`
    with deleted as (
      delete from webhooks.deliveries where id = (
        select id from webhooks.deliveries where status = 'pending' and tries_made = 0 and created_at > ${since} limit 1)
      returning account_id, event_id
    )
    select e.envelope::jsonb #>> '{data,contact,id}' as contact from webhooks.events e join deleted d
    on e.account_id = d.account_id and e.id = d.event_id`;
  return deleted?.contact;
}

/** Stops PostgreSQL most of the time: requests succeed slowly. */
export const slowDatabase: Fault = {
  name: 'slow',
  what: 'PostgreSQL is stopped for most of each second',
  alerts: [{ name: 'LatencyBudgetFastBurn', labels: { severity: 'critical' } }],
  async cause({ platform, admin, say }) {
    const server = await waitFor('PostgreSQL to run', () => platform.pidOf('postgres'));
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    let isRunning = true;
    const pulses = (async () => {
      while (isRunning) {
        const pids = [server, ...childrenOf(server)];
        signalAll(pids, 'SIGSTOP');
        await Promise.race([sleep(stoppedMs), stopped]);
        signalAll(pids, 'SIGCONT');
        await Promise.race([sleep(runsMs), stopped]);
      }
    })();
    const end = async () => {
      isRunning = false;
      stop();
      await pulses;
    };
    return {
      async remedy() {
        const { data } = await admin('traces', 'list', '--request-min-duration-ms', '500');
        if (data.length === 0) throw new Error('traces list has no slow request');
        const { data: processes } = await admin('services');
        const waiting = processes.map(({ service, pool }: Described) => `${service} ${pool.waiting}`).join(', ');
        say(`waiting queries: ${waiting}; PostgreSQL continues`);
        await end();
      },
      end,
    };
  },
};

/** Freezes PostgreSQL with all its processes. */
export const frozenDatabase: Fault = {
  name: 'database',
  what: 'PostgreSQL is frozen',
  alerts: [
    { name: 'PoolExhausted', labels: { job: 'cdp' } },
    { name: 'ErrorBudgetFastBurn', labels: { severity: 'critical' } },
  ],
  async cause({ platform, admin, say }) {
    const server = await waitFor('PostgreSQL to run', () => platform.pidOf('postgres'));
    const pids = [server, ...childrenOf(server)];
    signalAll(pids, 'SIGSTOP');
    return {
      async remedy() {
        const { data } = await admin('services');
        const waiting = data.map(({ service, pool }: Described) => `${service} ${pool.waiting}`).join(', ');
        say(`waiting queries: ${waiting}; PostgreSQL continues`);
        signalAll(pids, 'SIGCONT');
      },
      end: async () => signalAll(pids, 'SIGCONT'),
    };
  },
};

interface Described {
  service: string;
  pool: { waiting: number };
}
