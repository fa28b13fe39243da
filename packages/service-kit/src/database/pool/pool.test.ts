import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, type Relay, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isDatabaseResponsive } from '../../http/health.ts';
import { type Database, inTransaction, openDatabase } from '../database.ts';
import { isDatabaseUnavailable, isTransactionConflict } from '../database-errors.ts';

const statementMs = 1_500;
let platform: Platform;
let relay: Relay;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(async () => {
  await platform?.stop();
});
beforeEach(async () => {
  relay = await startRelay(platform.env('crm').DATABASE_URL!);
  sql = openDatabase(relay.url, { pool: 2, service: 'crm', statementMs });
  await Promise.all([sql`select 1`, sql`select pg_sleep(0)`]);
});
afterEach(async () => {
  await sql?.end({ timeout: 0 });
  await relay?.stop();
});

const one = async () => (await sql<{ one: number }[]>`select 1 as one`)[0]!.one;
const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'no failure' as const,
    (error: unknown) => error,
  );

describe('while a migration adds columns', () => {
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));

  it('each statement gets its own rows', async () => {
    await sql`create table grown as select i, 't' || i as a from generate_series(1, 9) as i`;
    await sql`create table still as select i, 'u' || i as a from generate_series(1, 9) as i`;
    const single = openDatabase(relay.url, { pool: 1, service: 'crm', statementMs });
    const ofGrown = async (i: number) => (await single<{ a: string }[]>`select g.* from grown g where i = ${i}`)[0]?.a;
    const ofStill = async (i: number) => (await single<{ a: string }[]>`select i, a from still where i = ${i}`)[0]?.a;
    try {
      for (let round = 0; round < 10; round++) {
        for (let time = 0; time < 3; time++) await Promise.all([ofGrown(1), ofStill(1)]);
        await sql.unsafe(`alter table grown add column c${round} integer`);
        const given = [ofGrown(1)];
        const expected = ['t1'];
        for (let each = 0; each < 12; each++) {
          await nextTick();
          const isOfGrown = each % 3 === 2;
          const i = isOfGrown ? 2 + (each % 7) : 1 + (each % 8);
          given.push(isOfGrown ? ofGrown(i) : ofStill(i));
          expected.push(`${isOfGrown ? 't' : 'u'}${i}`);
        }
        expect(await Promise.all(given)).toEqual(expected);
      }
    } finally {
      await single.end({ timeout: 0 });
      await sql`drop table grown, still`;
    }
  });

  it('a transaction fails with a transaction conflict, and the next succeeds', async () => {
    await sql`create table grown as select 1 as i`;
    const single = openDatabase(relay.url, { pool: 1, service: 'crm', statementMs });
    const read = () => inTransaction(single, async (tx) => (await tx`select g.* from grown g where i = ${1}`).length);
    try {
      for (let time = 0; time < 3; time++) expect(await read()).toBe(1);
      await sql`alter table grown add column more integer`;
      expect(isTransactionConflict(await failure(read()))).toBe(true);
      expect(await read()).toBe(1);
    } finally {
      await single.end({ timeout: 0 });
      await sql`drop table grown`;
    }
  });
});

describe('a connection that falls silent', () => {
  it('makes its statements time out, and the pool reconnects', async () => {
    relay.silence();
    expect(isDatabaseUnavailable(await failure(one()))).toBe(true);
    await waitFor('a new connection', () => one().catch(() => undefined));
  });

  it('makes a transaction under way time out, and the pool reconnects', async () => {
    const work = inTransaction(sql, async (tx) => {
      await tx`select 1`;
      relay.silence();
      await tx`select 2`;
      await tx`select 3`;
    });
    expect(isDatabaseUnavailable(await failure(work))).toBe(true);
    await waitFor('a new connection', () => inTransaction(sql, (tx) => tx`select 4`).catch(() => undefined));
  });
});

it('a connection that ends while its transaction runs no statement fails the next statement, not the process', async () => {
  const open = sql.pool.open;
  const { promise: next, resolve } = Promise.withResolvers<unknown>();
  const work = inTransaction(sql, async (tx) => {
    const [backend] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await platform.database('crm')`select pg_terminate_backend(${backend!.pid})`;
    await waitFor('the connection to end', () => sql.pool.open < open);
    resolve(await failure(tx`select 2`));
  });
  expect(isDatabaseUnavailable(await failure(work))).toBe(true);
  expect(isDatabaseUnavailable(await next)).toBe(true);
  await waitFor('a new connection', () => one().catch(() => undefined));
});

describe('connections that PostgreSQL ends while statements run', () => {
  const selectOne = (pool: Database) => pool`select 1 as one`;
  const selectInTransaction = (pool: Database) => inTransaction(pool, (tx) => tx`select 1 as one`);

  it.each([
    ['a statement', 1, [selectOne]],
    ['a transaction', 1, [selectInTransaction]],
    ['many of both', 4, Array.from({ length: 10 }, () => [selectOne, selectInTransaction]).flat()],
  ])('fail only these; what follows succeeds: %s', async (_, size, following) => {
    const pool = openDatabase(relay.url, { pool: size, service: 'ended', statementMs: 60_000 });
    try {
      const running = Array.from({ length: size }, () => failure(pool`select pg_sleep(60)`));
      const backends = () => sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where application_name = 'ended' and query like '%pg_sleep%' and state = 'active' and datname = current_database()`;
      await waitFor('all to run', async () => (await backends()).length === size);
      await sql`select pg_terminate_backend(pid) from unnest(${(await backends()).map(({ pid }) => pid)}::integer[]) as pid`;
      for (const error of await Promise.all(running)) expect(isDatabaseUnavailable(error)).toBe(true);
      const results = await Promise.all(following.map((follow) => follow(pool)));
      for (const rows of results) expect(rows).toEqual([{ one: 1 }]);
    } finally {
      await pool.end({ timeout: 0 });
    }
  });
});

it('rejects a transaction for which no connection becomes free, and never runs it later', async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const holders = [1, 2].map(() => inTransaction(sql, () => isOver));
  let ran = 0;
  const waiting = inTransaction(sql, async () => {
    ran++;
  });
  expect(isDatabaseUnavailable(await failure(waiting))).toBe(true);
  end();
  await Promise.all(holders);
  expect(await one()).toBe(1);
  expect(ran).toBe(0);
});

it('a statement for which no connection becomes free is not sent later', async () => {
  await sql`create table given_up (id int)`;
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const holders = [1, 2].map(() => inTransaction(sql, () => isOver));
  expect(isDatabaseUnavailable(await failure(sql`insert into given_up values (${1})`))).toBe(true);
  end();
  await Promise.all(holders);
  expect(await Promise.all([one(), one(), one()])).toEqual([1, 1, 1]);
  expect(await sql`select from given_up`).toHaveLength(0);
});

describe('if no host is a primary', () => {
  /** Opens a pool of one connection to a port that refuses connections and to another server. */
  const openTwo = async (url: string) => {
    const { host } = new URL(url);
    const both = url.replace(host, `127.0.0.1:${await freePort()},${host}`);
    return openDatabase(`${both}?target_session_attrs=primary`, { pool: 1, service: 'crm', statementMs });
  };

  it('a statement that timed out is not sent once a primary appears', async () => {
    relay.cut();
    const pool = await openTwo(relay.url);
    try {
      const database = platform.database('crm');
      await database`create table too_late (id int)`;
      expect(isDatabaseUnavailable(await failure(pool`insert into too_late values (${1})`))).toBe(true);
      relay.mend();
      await waitFor('a connection', () => pool`select 1`.catch(() => undefined));
      expect(await database`select from too_late`).toHaveLength(0);
    } finally {
      await pool.end({ timeout: 0 });
    }
  });

  it('the pool pauses between connection attempts to a server that closes connections', async () => {
    let attempts = 0;
    const server = createServer((socket) => {
      attempts++;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const pool = await openTwo(`postgres://crm:x@127.0.0.1:${(server.address() as AddressInfo).port}/crm`);
    try {
      expect(isDatabaseUnavailable(await failure(pool`select 1`))).toBe(true);
      expect(attempts).toBeGreaterThan(2);
      expect(attempts).toBeLessThan(15);
    } finally {
      await pool.end({ timeout: 0 });
      server.close();
    }
  });
});

it('reports a stalled pool only if the database accepts connections', async () => {
  expect(await isDatabaseResponsive(sql)).toBe(true);
  relay.stall();
  await failure(one());
  const now = performance.now.bind(performance);
  performance.now = () => now() + 31_000;
  try {
    await failure(one());
    expect(await isDatabaseResponsive(sql)).toBe(false);
    relay.cut();
    await relay.stop();
    await waitFor('the next connection attempt', () => isDatabaseResponsive(sql));
  } finally {
    performance.now = now;
  }
});

it('reports how many connections of a pool are used, and how many callers wait for one', async () => {
  const isIdle = () => waitFor('all connections to be idle', () => isDeepStrictEqual(sql.pool.use, idle));
  const idle = { size: 2, used: 0, waiting: 0 };
  await isIdle();
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const hold = async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const held = inTransaction(sql, async (tx) => {
      await tx`select 1`;
      begin();
      await isOver;
    });
    await begun;
    return { held };
  };
  const first = await hold();
  expect(sql.pool.use).toEqual({ size: 2, used: 1, waiting: 0 });
  const second = await hold();
  const others = [one(), inTransaction(sql, (tx) => tx`select 2`)];
  await waitFor('the others to wait', () => sql.pool.use.waiting === 2);
  expect(sql.pool.use).toEqual({ size: 2, used: 2, waiting: 2 });
  end();
  await Promise.all([first.held, second.held, ...others]);
  await isIdle();
  await failure(inTransaction(sql, (tx) => tx`select 1 / 0`));
  const cut = inTransaction(sql, (tx) => tx`select pg_sleep(1)`);
  await waitFor('a connection to be used', () => sql.pool.use.used === 1);
  relay.cut();
  await failure(cut);
  await isIdle();
});
