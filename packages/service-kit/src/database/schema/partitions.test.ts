import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { inboxByDay } from '../../process/upkeep.ts';
import { meter } from '../../telemetry/meter.ts';
import { uuidAt } from '../../values/timed-ids.ts';
import { type Database, inTransaction, type Sql } from '../database.ts';
import { dropPartition, type Partition, readPartitions } from './partitions.sql.ts';
import { type PartitionedTable, PartitionKeeper, planPartitions } from './partitions.ts';

const dayMs = 86_400_000;
const monday = Date.UTC(2026, 10, 23);
const at = (day: number, ms = 0) => monday + day * dayMs + ms;

describe('the plan of a table', () => {
  const daily: PartitionedTable = { table: 'records', days: 1, ahead: 2, keptMs: 3 * dayMs };
  const span = (from: number, to: number): Partition => ({ name: `p${from}`, fromMs: at(from), toMs: at(to) });

  it('creates what is missing for now and ahead, gaps included, but nothing before the first existing partition', () => {
    const dayOf = (ms: number) => (ms - monday) / dayMs;
    const missing = (existing: Partition[], now = at(0, 5)) =>
      planPartitions(daily, existing, now).missing.map(({ fromMs, toMs }) => `${dayOf(fromMs)} to ${dayOf(toMs)}`);
    expect(missing([span(-1, 0)])).toEqual(['0 to 1', '1 to 2', '2 to 3']);
    expect(missing([span(-1, 0), span(0, 1), span(1, 2), span(2, 3)])).toEqual([]);
    expect(missing([span(-3, -2), span(1, 2)])).toEqual(['-2 to -1', '-1 to 0', '0 to 1', '2 to 3']);
    expect(missing([span(0, 1)], at(0))).toEqual(['1 to 2', '2 to 3']);
    expect(missing([{ name: 'before', fromMs: -Infinity, toMs: at(1) }])).toEqual(['1 to 2', '2 to 3']);
    expect(missing([])).toEqual(['-3 to -2', '-2 to -1', '-1 to 0', '0 to 1', '1 to 2', '2 to 3']);
    // After downtime: only partitions that may still get rows.
    expect(missing([span(-90, -89)])[0]).toBe('-3 to -2');
  });

  it('has blocks of days that are counted from the epoch, whatever partitions exist', () => {
    const weekly = { ...daily, days: 7, ahead: 1, keptMs: 0 };
    const [first, second] = planPartitions(weekly, [], at(0)).missing;
    expect([new Date(first!.fromMs).toISOString(), second!.fromMs]).toEqual(['2026-11-19T00:00:00.000Z', first!.toMs]);
    const [rest] = planPartitions(weekly, [{ name: 'before', fromMs: -Infinity, toMs: at(1) }], at(0)).missing;
    expect(rest).toEqual({ fromMs: at(1), toMs: first!.toMs });
    // Blocks of another length begin where the existing ones end.
    const existing = [-1, 0, 1].map((day) => span(day, day + 1));
    expect(planPartitions(weekly, existing, at(0)).missing.map(({ fromMs }) => fromMs)).toEqual([at(2), first!.toMs]);
  });

  it('drops partitions once their retention time has passed, to the millisecond', () => {
    const existing = [span(-2, -1), span(-1, 0), span(0, 1), span(1, 2), span(2, 3)];
    const expired = (now: number) => planPartitions(daily, existing, now).expired.map(({ name }) => name);
    expect(expired(at(2, -1))).toEqual([]);
    expect(expired(at(2))).toEqual(['p-2']);
    expect(expired(at(2, 1))).toEqual(['p-2']);
    expect(expired(at(4))).toEqual(['p-2', 'p-1', 'p0']);
  });

  it('drops nothing that has expired by only one of the two clocks', () => {
    const existing = [span(-2, -1), span(-1, 0), span(0, 1)];
    const expired = (now: number, ownNow: number) => planPartitions(daily, existing, now, ownNow).expired.length;
    expect([expired(at(900), at(0)), expired(at(0), at(900)), expired(at(900), at(2))]).toEqual([0, 0, 1]);
  });
});

describe('a table in a database', () => {
  let platform: Platform;
  let sql: Database;
  const daily: PartitionedTable = { table: 'records', days: 1, ahead: 2, keptMs: 3 * dayMs };
  let today: number;
  const nameOf = (day: number) => {
    return `records_${new Date(today + day * dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
  };

  beforeAll(async () => {
    platform = await startPlatform({ services: ['crm'] });
    sql = platform.database('crm');
  });
  afterAll(async () => {
    await platform?.stop();
  });
  beforeEach(async () => {
    const [row] = await sql<{ now: Date }[]>`select now()`;
    today = Math.floor(row!.now.getTime() / dayMs) * dayMs;
    await sql.unsafe(`
      create table records (account_id uuid not null, id uuid not null, note text check (note <> ''), primary key (account_id, id))
        partition by range (id);
      create index records_by_note on records (account_id, note);
      create table records_before partition of records for values from (minvalue) to ('${uuidAt(today - 5 * dayMs)}')`);
  });
  afterEach(async () => {
    await sql`drop table records`;
  });

  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const keeperOf = (table = daily) => new PartitionKeeper(sql, [table], log);
  const names = async () => (await readPartitions(sql, 'records')).partitions.map(({ name }) => name).sort();
  const insert = (id: string, connection: Sql = sql) =>
    connection`insert into records values (${uuidAt(0)}, ${id}, 'kept') returning tableoid::regclass::text as name`;

  /** Reads the table in a transaction, as a backup does; returns a function that ends it. */
  async function readForLong(): Promise<() => Promise<void>> {
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const { promise: hasLock, resolve: locked } = Promise.withResolvers<void>();
    const backup = inTransaction(sql, async (tx) => {
      await tx`select from records`;
      locked();
      await isOver;
    });
    await hasLock;
    return async () => {
      end();
      await backup;
    };
  }

  it('has partitions for now and ahead, created once by several processes, with its indexes and checks', async () => {
    await Promise.all([keeperOf().keepUp(), keeperOf().keepUp()]);
    await keeperOf().keepUp();
    const made = [-3, -2, -1, 0, 1, 2].map(nameOf);
    // Partitions between the first one and the retention time would stay empty; the first one has expired.
    expect(await names()).toEqual(made);
    expect(await insert(uuidAt(today + dayMs))).toEqual([{ name: nameOf(1) }]);
    expect(await insert(uuidAt(today + dayMs - 1))).toEqual([{ name: nameOf(0) }]);
    const indexes = await sql<{ definition: string }[]>`
      select indexdef as definition from pg_indexes where tablename = ${nameOf(0)} order by 1`;
    expect(indexes.map(({ definition }) => definition.replace(/^.* USING /, ''))).toEqual([
      'btree (account_id, note)',
      'btree (account_id, id)',
    ]);
    await expect(sql`insert into records values (${uuidAt(0)}, ${uuidAt(today)}, '')`).rejects.toThrow(
      'records_note_check',
    );
  });

  it('loses its expired partitions one by one, oldest first, and keeps the rows of the others', async () => {
    await keeperOf().keepUp();
    await insert(uuidAt(today - 1));
    await insert(uuidAt(today));
    const rounds: unknown[] = [];
    for (const keptMs of [2 * dayMs, 0]) {
      const keeper = keeperOf({ ...daily, keptMs });
      while (await keeper.keepUp());
      const rows = await sql`select tableoid::regclass::text as name from records order by id`;
      rounds.push(rows.map(({ name }) => name as string));
    }
    expect(rounds).toEqual([[nameOf(-1), nameOf(0)], [nameOf(0)]]);
    // With a longer retention time, dropped partitions are not created again.
    await keeperOf().keepUp();
    expect(await names()).toEqual([nameOf(0), nameOf(1), nameOf(2)]);
  });

  it('keeps partitions that have expired only by the clock of the database, which may have jumped', async () => {
    await keeperOf().keepUp();
    const before = await names();
    const behind = jest.spyOn(Date, 'now').mockReturnValue(today - 30 * dayMs);
    try {
      expect(await keeperOf({ ...daily, keptMs: 0 }).keepUp()).toBe(false);
    } finally {
      behind.mockRestore();
    }
    expect(await names()).toEqual(before);
    expect(await keeperOf({ ...daily, keptMs: 0 }).keepUp()).toBe(true);
  });

  it('keeps a partition while a long transaction locks it, blocks no statement, and drops it afterwards', async () => {
    const keeper = keeperOf();
    const end = await readForLong();
    try {
      const [oldest] = (await readPartitions(sql, 'records')).partitions;
      // Rejected because of the lock, long before the statement timeout.
      await expect(dropPartition(sql, 'records', oldest!)).rejects.toMatchObject({ code: '55P03' });
      lines.length = 0;
      for (let round = 0; round < 2; round++) expect(await keeper.keepUp()).toBe(false);
      expect(lines.filter((line) => line.includes('cannot be dropped'))).toHaveLength(2);
      // Meanwhile partitions are created and rows written.
      expect(await insert(uuidAt(today))).toEqual([{ name: nameOf(0) }]);
      expect(await names()).toContain('records_before');
    } finally {
      await end();
    }
    await keeper.keepUp();
    expect(await names()).not.toContain('records_before');
  });

  it('is changed by one process at a time: another leaves it alone', async () => {
    await inTransaction(sql, async (tx) => {
      await tx`select pg_advisory_xact_lock(hashtextextended('partitions records of crm', 0))`;
      expect(await keeperOf().keepUp()).toBe(false);
      expect(await names()).toEqual(['records_before']);
    });
  });

  it('gets a partition in place of one that was detached and kept, and those after it', async () => {
    await keeperOf().keepUp();
    await sql.unsafe(`alter table records detach partition ${nameOf(1)}`);
    await keeperOf({ ...daily, ahead: 4 }).keepUp();
    expect(await names()).toEqual([
      ...[-3, -2, -1, 0].map(nameOf),
      expect.stringContaining(`${nameOf(1)}_`),
      ...[2, 3, 4].map(nameOf),
    ]);
    await sql`drop table ${sql(nameOf(1))}`;
  });

  /** Runs `work` while another transaction changes the table, as a concurrent index build does. */
  async function whileChanged(work: () => Promise<void>): Promise<void> {
    await inTransaction(sql, async (tx) => {
      await tx`lock table records in share update exclusive mode`;
      await work();
    });
  }

  it('lets no process start without a partition for the current time', async () => {
    await whileChanged(async () => {
      const begun = keeperOf().start();
      await expect(begun).rejects.toThrow('no partition exists for the current time: records');
    });
  }, 60_000);

  it('lets a process start that cannot create partitions ahead if one exists for now, and reports how long it lasts', async () => {
    const bounds = `from ('${uuidAt(today)}') to ('${uuidAt(today + dayMs)}')`;
    await sql.unsafe(`drop table records_before; create table records_now partition of records for values ${bounds}`);
    const observe = jest.spyOn(meter, 'observe');
    const keeper = keeperOf();
    const [, measure] = observe.mock.lastCall!;
    observe.mockRestore();
    await whileChanged(async () => {
      await keeper.start();
      expect(await names()).toEqual(['records_now']);
      const ahead: number[] = [];
      await measure((name: string, value: number) => void (name === 'partitions.ahead' && ahead.push(value)));
      expect(ahead).toHaveLength(1);
      expect(ahead[0]).toBeGreaterThan(0);
      expect(ahead[0]).toBeLessThanOrEqual(dayMs / 1_000);
    });
    await keeper.stop();
  }, 60_000);

  it('the inbox has its partitions from the start, and remembers an event for as long as it may come again', async () => {
    const { now, partitions } = await readPartitions(sql, 'inbox');
    expect(Math.max(...partitions.map(({ toMs }) => toMs))).toBeGreaterThan(now + 14 * dayMs);
    expect(inboxByDay.keptMs).toBe(45 * dayMs);
  });
});
