import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type Database, inTransaction, openDatabase } from '../database.ts';
import { isDatabaseUnavailable } from '../database-errors.ts';

let platform: Platform;
let url: string;
const pools: Database[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  url = platform.env('crm').DATABASE_URL!;
});
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.end({ timeout: 0 }))));
afterAll(() => platform?.stop());

function open(size: number, at = url): Database {
  const pool = openDatabase(at, { pool: size, service: 'crm' });
  pools.push(pool);
  return pool;
}

const failure = (work: PromiseLike<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

it('a transaction that begins behind a hundred statements on a connection runs as one', async () => {
  const sql = open(2);
  await sql`create table begun (n int)`;
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>();
  const holder = inTransaction(sql, async () => {
    begun();
    await isOver;
  });
  await hasBegun;
  const seven = () => sql<{ seven: number }[]>`select ${7}::int as seven`;
  await seven();
  // All are sent now: the transaction's first statement is the hundredth behind the running one.
  const before = [sql`select pg_sleep(0.2)`.execute(), ...Array.from({ length: 99 }, () => seven().execute())];
  const inserted = inTransaction(sql, async (tx) => {
    await tx`insert into begun values (1)`;
    await tx`insert into begun values (2)`;
  });
  await Promise.all(before);
  await inserted;
  end();
  await holder;
  expect(await platform.database('crm')`select n from begun order by n`).toEqual([{ n: 1 }, { n: 2 }]);
});

it('no statement gets the rows of another after a value that cannot be serialized', async () => {
  const sql = open(1);
  const instant = (at: Date) => sql`select ${at}::timestamptz as at`;
  const number = (n: number) => sql<{ n: number }[]>`select ${n}::int as n`;
  await Promise.all([instant(new Date()), number(1)]);
  const sleeping = failure(sql`select pg_sleep(0.1)`);
  const wrong = failure(instant(new Date(Number.NaN)));
  const numbers = [7, 8, 9].map((n) =>
    number(n).then(
      (rows) => ({ n, rows: [...rows] }),
      (error: unknown) => ({ n, error }),
    ),
  );
  for (const each of await Promise.all(numbers)) {
    if ('rows' in each) expect(each.rows).toEqual([{ n: each.n }]);
    else expect(isDatabaseUnavailable(each.error)).toBe(true);
  }
  expect([await sleeping, await wrong].filter((error) => error instanceof RangeError).length).toBeGreaterThan(0);
  expect(await waitFor('the next', () => number(5).catch(() => undefined))).toEqual([{ n: 5 }]);
});

it('a transaction with a value that cannot be serialized fails with that error, not as unavailable', async () => {
  const sql = open(1);
  const within = (value: Date) => inTransaction(sql, (tx) => tx`select ${value}::timestamptz as at`);
  await within(new Date());
  await expect(within(new Date(Number.NaN))).rejects.toThrow(RangeError);
  await waitFor('the next', () => within(new Date()).catch(() => undefined));
  const missing = inTransaction(sql, (tx) => tx`select ${undefined as never}::int`);
  await expect(missing).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' });
  await waitFor('the next', () => within(new Date()).catch(() => undefined));
});

it('values are serialized once, even if a migration causes a retry', async () => {
  const sql = open(1);
  await sql`create table wider as select 1 as i`;
  const given = { yes: true, json: { a: 1 } };
  const all = () => sql`select w.*, ${given.yes}::boolean as yes, ${sql.json(given.json)}::jsonb as json from wider w`;
  for (let time = 0; time < 3; time++) expect(await all()).toEqual([{ i: 1, ...given }]);
  await platform.database('crm')`alter table wider add column j int`;
  expect(await all()).toEqual([{ i: 1, j: null, ...given }]);
});

it('a statement made between the error of a connection and its end fails with it', async () => {
  const clients: Socket[] = [];
  const { port, hostname } = new URL(url);
  const server = createServer((client) => {
    clients.push(client);
    const upstream = connect(Number(port), hostname);
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  try {
    const sql = open(1, through.href);
    const number = (n: number) => sql<{ n: number }[]>`select ${n}::int as n`;
    await number(1);
    const sleeping = sql`select pg_sleep(60)`.catch(async (error: unknown) => [error, await failure(number(2))]);
    const behind = failure(number(3));
    await waitFor('the statement to run', async () => {
      const rows = await platform.database(
        'crm',
      )`select from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()`;
      return rows.length > 0;
    });
    for (const client of clients) client.resetAndDestroy();
    const [error, made] = (await sleeping) as unknown as [unknown, unknown];
    expect(isDatabaseUnavailable(error)).toBe(true);
    // A statement that was waiting or is made at that moment gets another connection.
    for (const other of [made, await behind]) expect(other === undefined || isDatabaseUnavailable(other)).toBe(true);
    expect(await number(4)).toEqual([{ n: 4 }]);
    expect(await inTransaction(sql, (tx) => tx`select 5 as five`)).toEqual([{ five: 5 }]);
  } finally {
    server.close();
  }
});
