import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Platform, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import postgres from 'postgres';
import { migrate, type Waiting } from './migrate.ts';

let platform: Platform;
let url: string;
let sql: postgres.Sql;
let directory: string;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  url = platform.env('crm').DATABASE_URL!;
  sql = postgres(url, { max: 3, connection: { search_path: 'crm, public' }, onnotice: () => undefined });
});
afterAll(async () => {
  await sql?.end({ timeout: 1 });
  await platform?.stop();
});
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'migrations-'));
  await sql`create table long_read (id int primary key)`;
});
afterEach(async () => {
  await sql`delete from migrations where name like '9%'`;
  await sql`drop table long_read`;
  await rm(directory, { recursive: true, force: true });
});

const write = (name: string, statements: string) => writeFile(join(directory, name), statements);
const migrateAll = (tries: number[] = []) =>
  migrate(url, 'crm', [pathToFileURL(`${directory}/`)], (waiting) => tries.push(waiting.tries));

it('a migration waits for a database that accepts no connections, and reports it', async () => {
  const relay = await startRelay(url);
  relay.cut();
  try {
    await write('9000_column.sql', 'alter table long_read add column name text;');
    const waited: Waiting[] = [];
    const migrated = migrate(relay.url, 'crm', [pathToFileURL(`${directory}/`)], (waiting) => waited.push(waiting));
    await waitFor('an attempt', () => waited.length >= 1);
    relay.mend();
    await migrated;
    expect(waited[0]).toEqual({ waitsFor: 'database', tries: 1 });
    expect((await sql`select name from long_read`).columns[0]?.name).toBe('name');
  } finally {
    await relay.stop();
  }
}, 60_000);

/** Reads the table in a transaction, as a backup does; returns a function that ends it. */
async function readForLong(): Promise<() => Promise<void>> {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const { promise: hasLock, resolve: locked } = Promise.withResolvers<void>();
  const backup = sql.begin('isolation level repeatable read', async (tx) => {
    await tx`select * from long_read`;
    locked();
    await isOver;
  });
  await hasLock;
  return async () => {
    end();
    await backup;
  };
}

it('a migration blocked by a long transaction lets others through until it can proceed', async () => {
  const end = await readForLong();
  try {
    await write('9001_column.sql', 'alter table long_read add column name text;');
    const tries: number[] = [];
    const migrated = migrateAll(tries);
    await waitFor('the migration to give way twice', () => tries.length >= 2, 30_000);
    // Meanwhile a reader waits for at most the lock timeout.
    expect(await sql`select * from long_read`).toHaveLength(0);
    await end();
    await migrated;
    expect((await sql`select name from long_read`).columns[0]?.name).toBe('name');
  } finally {
    await end();
  }
}, 60_000);

it('a migration may take any time, but waits for a lock only briefly', async () => {
  const settings = ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'];
  const values = settings.map((name) => `current_setting('${name}') as ${name}`);
  await write('9007_settings.sql', `create table settings_seen as select ${values.join(', ')};`);
  await migrateAll();
  const [seen] = await sql`select * from settings_seen`;
  await sql`drop table settings_seen`;
  expect(seen).toEqual({ statement_timeout: '0', idle_in_transaction_session_timeout: '0', lock_timeout: '200ms' });
});

it('a process that loses its connection while it waits stops migrating, so that another can', async () => {
  const end = await readForLong();
  try {
    await write('9008_column.sql', 'alter table long_read add column name text;');
    const tries: number[] = [];
    const outcome = migrateAll(tries).catch((error: Error) => error);
    await waitFor('the migration to give way', () => tries.length >= 1, 30_000);
    await sql`
      select pg_terminate_backend(pid, 5000) from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and application_name = 'crm migrate' and datname = current_database()`;
    const other = migrateAll();
    expect(await outcome).toMatchObject({ message: expect.stringContaining('The connection was lost') });
    await end();
    await other;
    expect((await sql`select name from long_read`).columns[0]?.name).toBe('name');
  } finally {
    await end();
  }
}, 60_000);

it('an index built concurrently blocks no writer, and other processes wait until it exists', async () => {
  const end = await readForLong();
  try {
    await write(
      '9002_index.sql',
      '-- Why.\ncreate index concurrently if not exists long_read_id on long_read (id desc);\n',
    );
    const migrated = migrateAll();
    const isWaiting = async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where query like 'create index concurrently%' and wait_event_type = 'Lock' and datname = current_database()`;
      return waiting.length === 1;
    };
    await waitFor('the index to wait for the backup', isWaiting);
    const tries: number[] = [];
    const other = migrateAll(tries);
    await waitFor('another process to wait', () => tries.length >= 2, 30_000);
    await sql`insert into long_read values (1)`;
    await end();
    await Promise.all([migrated, other]);
    const applied = await sql`select from migrations where name = '9002_index.sql'`;
    const indexes = await sql`select indisvalid from pg_index where indexrelid = 'long_read_id'::regclass`;
    expect({ applied: applied.length, indexes: [...indexes] }).toEqual({ applied: 1, indexes: [{ indisvalid: true }] });
  } finally {
    await end();
  }
}, 60_000);

it('tables with account rows are analyzed after 2,000 changes, however large they are', async () => {
  await write('9006_rows.sql', 'create table account_rows (account_id uuid); create table other_rows (id int);');
  await sql`alter table stages reset (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)`;
  await sql.begin(async (tx) => {
    // A vacuum takes this lock.
    await tx`lock table stages in share update exclusive mode`;
    await migrateAll();
  });
  const options = await sql<{ relname: string; reloptions: string[] | null }[]>`
    select relname, reloptions from pg_class
    where relname in ('account_rows', 'other_rows', 'deals') and relnamespace = current_schema()::regnamespace order by relname`;
  await sql`drop table account_rows, other_rows`;
  const often = ['autovacuum_analyze_scale_factor=0', 'autovacuum_analyze_threshold=2000'];
  expect(options.map(({ reloptions }) => reloptions)).toEqual([often, often, null]);
});

it('an index that an ended process left invalid is built again', async () => {
  await sql`insert into long_read values (1), (2)`;
  // Building a unique index on duplicate values fails after its first pass and leaves the index invalid.
  await sql.unsafe('create unique index concurrently long_read_id on long_read ((id > 0))').catch(() => undefined);
  await write('9003_index.sql', 'create index concurrently if not exists long_read_id on long_read (id desc);');
  await migrateAll();
  const [index] = await sql`select indisvalid, indisunique from pg_index where indexrelid = 'long_read_id'::regclass`;
  expect(index).toEqual({ indisvalid: true, indisunique: false });
}, 60_000);

it('an index of a partitioned table is built concurrently, partition by partition, resuming where an attempt ended', async () => {
  await sql.unsafe(`
    create table parted (id int not null) partition by range (id);
    create table parted_low partition of parted for values from (0) to (10);
    create table parted_high partition of parted for values from (10) to (20);
    insert into parted values (1), (11)`);
  try {
    await sql.unsafe('create index parted_desc on only parted (id desc)');
    await sql.unsafe('create index parted_low_desc on parted_low (id desc)');
    await sql.unsafe('alter index parted_desc attach partition parted_low_desc');
    const end = await readForLong();
    await write('9004_index.sql', 'create index concurrently if not exists parted_desc on parted (id desc);');
    const migrated = migrateAll();
    await waitFor('the first index to wait for the backup', async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where query like 'create index concurrently%parted_high%' and datname = current_database()`;
      return waiting.length === 1;
    });
    await sql`insert into parted values (2), (12)`;
    await end();
    await migrated;
    await sql.unsafe('create table parted_later partition of parted for values from (20) to (30)');
    const indexes = await sql`
      select indexrelid::regclass::text as name, indisvalid from pg_index where indrelid::regclass::text like 'parted%' order by 1`;
    expect([...indexes].every(({ indisvalid }) => indisvalid)).toBe(true);
    expect(indexes.map(({ name }) => name)).toEqual([
      'parted_desc',
      'parted_high_desc',
      'parted_later_id_idx',
      'parted_low_desc',
    ]);
  } finally {
    await sql`drop table parted`;
  }
}, 60_000);
