import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { type Database, inTransaction, migrate, openDatabase } from '@customer-platform/service-kit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  allMigrations,
  forgetEventBefore,
  migrateAsBefore,
  readQueueBefore,
  takeEventBefore,
  takeOnceBefore,
  writeOutcomeBefore,
} from '../../test/before-partitions.ts';
import { ownDatabase } from '../../test/own-database.ts';
import { selectDeliveries } from '../deliveries/deliveries.sql.ts';
import { countUnaccounted, selectEvents } from './events.sql.ts';

let sql: Database;
let url: string;
const account = randomUUID();
const endpoint = randomUUID();
const key = { accountId: account, endpointId: endpoint };
const events = Array.from({ length: 20 }, () => randomUUIDv7());
const oldest = new Date(0);

beforeAll(async () => {
  url = await ownDatabase();
  await migrateAsBefore(url, 'webhooks');
  sql = openDatabase(url, { pool: 4, service: 'webhooks' });
  await sql`
    insert into endpoints (account_id, id, url, description, events, active, secret, created_at, updated_at)
    values (${account}, ${endpoint}, 'https://hooks.example', '', '{*}', true, '\\x00', now(), now())`;
});
afterAll(async () => {
  await sql?.end();
});

/** Returns everything visible to customers and processes. */
async function seen() {
  const [counts] = await sql`
    select (select count(*)::int from inbox) as inbox, (select count(*)::int from tries) as tries,
      (select count(*)::int from deliveries where status = 'pending') as pending`;
  return {
    counts,
    events: (await sql<{ id: string }[]>`select id from events where account_id = ${account} order by id desc`).map(
      ({ id }) => id,
    ),
    deliveries: (await selectDeliveries(sql, key, { oldest }, { after: undefined, limit: 100 })).map((row) => [
      row.id,
      row.event_id,
      row.status,
      row.tries.length,
    ]),
  };
}

/** Returns the sequence numbers of the listed events, in the order in which they were taken. */
async function sequences(): Promise<number[]> {
  const rows = await selectEvents(sql, account, { type: undefined, after: 0, oldest }, 100);
  const taken = await sql<{ id: string }[]>`select id from events where account_id = ${account} order by taken_at, id`;
  expect(rows.map(({ id }) => id)).toEqual(taken.map(({ id }) => id));
  return rows.map(({ sequence }) => sequence);
}

/** Takes an event, reads it as due and writes that it was delivered, with the previous release's statements. */
async function workAsBefore(connection: Parameters<typeof takeEventBefore>[0], event: string): Promise<void> {
  expect(await takeOnceBefore(connection, account, event)).toBe(true);
  expect(await takeOnceBefore(connection, account, event)).toBe(false);
  await takeEventBefore(connection, account, event);
  await takeEventBefore(connection, account, event);
  const due = await readQueueBefore(connection, account, endpoint);
  const [made] = await connection<{ id: string }[]>`
    select id from deliveries where account_id = ${account} and event_id = ${event}`;
  expect(due.map(({ id }) => id)).toContain(made!.id);
  await writeOutcomeBefore(connection, { account, endpoint, delivery: made!.id });
}

it('a migration keeps all rows, and processes of the previous release continue with their prepared statements', async () => {
  for (const event of events.slice(0, 18)) await takeEventBefore(sql, account, event);
  // Often enough for PostgreSQL to keep each generic plan.
  for (let round = 0; round < 8; round++) await workAsBefore(sql, randomUUIDv7());
  const before = await seen();
  expect([before.events.length, before.counts]).toEqual([26, { inbox: 8, tries: 8, pending: 18 }]);
  await migrate(url, 'webhooks', allMigrations);
  expect(await seen()).toEqual(before);
  for (let round = 0; round < 8; round++) await workAsBefore(sql, randomUUIDv7());
  const after = await seen();
  expect([after.events.length, after.counts]).toEqual([34, { inbox: 16, tries: 16, pending: 18 }]);
  expect((await countUnaccounted(sql, oldest, new Date(Date.now() + 60_000))).unaccounted).toBe(0);
  expect(await sequences()).toEqual(Array.from({ length: 34 }, (_, index) => index + 1));
  // Also ids of the coming weeks, in the partitions created for them.
  const later = (days: number) => sql<{ id: string }[]>`select uuidv7(make_interval(days => ${days})) as id`;
  for (const days of [9, 13]) await takeEventBefore(sql, account, (await later(days))[0]!.id);
  expect(await forgetEventBefore(sql)).toBe(events[0]);
  expect((await seen()).events).toHaveLength(35);
});

it('existing rows are neither read nor indexed again: the first partition has the indexes of the old table', async () => {
  const rows = await sql<{ table: string; names: string[] }[]>`
    select c.relname as table, array_agg(i.indexrelid::regclass::text order by 1) as names
    from pg_class c join pg_index i on i.indrelid = c.oid where c.relname like '%\\_before' group by 1 order by 1`;
  const suffixes = rows.map(({ table, names }) => [table, names.map((name) => name.replace(`${table}_`, '')).sort()]);
  expect(Object.fromEntries(suffixes)).toEqual({
    deliveries_before: ['by_event', 'by_status', 'newest', 'of_event', 'pending', 'pkey'],
    events_before: ['by_sequence', 'by_type_and_sequence', 'pkey', 'taken_at'],
    inbox_before: ['pkey', 'taken_at'],
    tries_before: ['pkey'],
  });
  const checks = await sql`select from pg_constraint where conname = 'before_partitions'`;
  expect(checks).toHaveLength(0);
});

it('statements with an id read one partition, and lists merge the newest rows of each, also with a generic plan', async () => {
  const plans = await inTransaction(sql, async (tx) => {
    await tx`set local plan_cache_mode = force_generic_plan`;
    await tx`set local enable_seqscan = off`;
    const plan = async (name: string, types: string, statement: string, values: string) => {
      await tx.unsafe(`prepare ${name} (${types}) as ${statement}`);
      const rows = await tx.unsafe(
        `explain (analyze, costs off, timing off, summary off, buffers off) execute ${name} (${values})`,
      );
      await tx.unsafe(`deallocate ${name}`);
      return rows.map((row) => row['QUERY PLAN'] as string).join('\n');
    };
    const [one] = await tx<
      { id: string }[]
    >`select id from deliveries where account_id = ${account} order by id limit 1`;
    const change = `update deliveries d set step = d.step from unnest($1, $2) as o (account_id, id) where d.account_id = o.account_id and d.id = o.id`;
    return {
      change: await plan('change', 'uuid[], uuid[]', change, `'{${account}}', '{${one!.id}}'`),
      tries: await plan(
        'tried',
        'uuid, uuid',
        'select * from tries where account_id = $1 and delivery_id = $2',
        `'${account}', '${one!.id}'`,
      ),
      events: await plan(
        'listed',
        'uuid, int',
        'select * from events where account_id = $1 and sequence > 3 order by sequence limit (select $2)',
        `'${account}', 5`,
      ),
      kind: await plan(
        'listed_by_type',
        'uuid, int',
        "select * from events where account_id = $1 and type = 'deal.won' and sequence < 30 order by sequence desc limit (select $2)",
        `'${account}', 5`,
      ),
    };
  });
  const read = (plan: string) =>
    plan.split('\n').filter((line) => /Scan/.test(line) && !/never executed|Function Scan/.test(line)).length;
  expect([read(plans.change), read(plans.tries)]).toEqual([1, 1]);
  expect(plans.tries).toContain('Subplans Removed');
  // The first of each partition, in index order.
  for (const plan of [plans.events, plans.kind]) {
    expect(plan).toContain('Merge Append');
    expect(plan).not.toMatch(/Sort Method|Seq Scan/);
    const scans = plan.split('\n').filter((line) => line.includes('Index Scan'));
    const most = scans.map((line) => Number(/actual rows=(\d+)/.exec(line)?.[1] ?? 0));
    expect(Math.max(...most)).toBeLessThanOrEqual(6);
  }
});
