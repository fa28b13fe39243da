import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clocks } from '../clocks/clocks.ts';
import type { Database } from '../database/database.ts';
import { serviceUnavailable } from '../database/database-errors.ts';
import { nothingPaused, type Paused } from '../queues/pauses.ts';
import { createLogger } from '../telemetry/logging.ts';
import { claimed, type DueTable } from './due-rows.ts';
import { DueWatch } from './due-watch.ts';
import type { DueRow, DueWork } from './due-work.ts';
import { WorkQueue } from './work-queue.ts';

let platform: Platform;
let sql: Database;
const log = createLogger('test', 'silent');
const queues: WorkQueue<Errand, string>[] = [];
let watch: DueWatch;
let nowMs = 0;
const clocks = new Clocks(() => new Date(nowMs));

interface Errand extends DueRow {
  id: string;
  body: string;
}

const table: DueTable = {
  name: 'errands',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'attempts',
  error: 'last_error',
};
const leaseMs = 30_000;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  await sql`
    create table errands (
      account_id uuid, id uuid, body text not null, due_at timestamptz, attempts integer not null default 0, result varchar(20), last_error text,
      primary key (account_id, id))`;
  await sql`create index on errands (due_at) where due_at is not null`;
  await sql`create index on errands (account_id, due_at) where due_at is not null`;
});
beforeEach(async () => {
  nowMs = Date.parse('2026-11-20T09:00:00Z');
  paused = nothingPaused;
  await sql`truncate errands`;
  watch = new DueWatch(sql, {
    bus: { publishNews: () => undefined, onPeerNews: () => undefined },
    clock: clocks.real,
    log,
    everyMs: 50,
  });
});
afterEach(async () => {
  await Promise.all(queues.splice(0).map((queue) => queue.stop()));
  await watch.stop();
});
afterAll(() => platform.stop());

let paused: Paused;
const membership = { paused: () => paused, failed: () => undefined, close: () => undefined };

/** Starts a queue, as one process would, that runs its rows by `run`. */
function start(run: DueWork<Errand, string>['run'], options: Partial<DueWork<Errand, string>> = {}) {
  const queue = new WorkQueue<Errand, string>(
    {
      sql,
      log,
      clocks,
      clockWork: { register: () => () => undefined, wake: () => undefined },
      bus: { isConnected: () => true },
      queues: { open: () => membership },
      watch,
    },
    {
      queue: 'errands',
      table,
      concurrency: { most: 16, perLane: 4 },
      retries: { leaseMs, backoff: { firstMs: 1_000, longestMs: 60_000 } },
      everyMs: 20,
      stopMs: 0,
      claim: (database, { due, leasedUntil }) => database<Errand[]>`
        with due as (${due}), claimed as (
          update errands e set ${claimed(database, table, leasedUntil)} from due
          where e.account_id = due.account_id and e.id = due.id returning e.*
        )
        select account_id, id, body, attempts, null as trace from claimed`,
      run,
      async settle(ended) {
        await sql`
          update errands e set due_at = null, result = done.result
          from unnest(${ended.map(({ row }) => row.id)}::uuid[], ${ended.map(({ result }) => result)}::text[]) as done (id, result)
          where e.id = done.id`;
      },
      ...options,
    },
  );
  queues.push(queue);
  return queue;
}

/** Adds errands of one account that are due; returns the account's id. */
async function add(count: number, body = 'quick', accountId: string = randomUUID()): Promise<string> {
  await sql`
    insert into errands (account_id, id, body, due_at)
    select ${accountId}, gen_random_uuid(), ${body}, ${new Date(nowMs)} from generate_series(1, ${count})`;
  return accountId;
}

const rows = () => sql<{ body: string; result: string | null; due_at: Date | null; attempts: number }[]>`
  select body, result, due_at, attempts from errands order by account_id, id`;
const allDone = () => waitFor('all to be done', async () => (await rows()).every(({ result }) => result !== null));

/** A run that ends when it is released or its signal aborts. */
function held() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (row: Errand, signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      begun.push(row.account_id);
      ends.push(() => resolve('done'));
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const release = () => {
    for (const end of ends.splice(0)) end();
  };
  return { begun, run, release };
}

describe('due rows', () => {
  it('run once each, however many processes run them', async () => {
    await Promise.all([add(150), add(150)]);
    const ran: string[] = [];
    const run = async ({ id }: Errand) => {
      ran.push(id);
      return 'done';
    };
    for (let process = 0; process < 3; process++) start(run);
    await allDone();
    expect([ran.length, new Set(ran).size]).toEqual([300, 300]);
  });

  it('run again after a failure, with a doubled wait each time, until they are given up', async () => {
    await add(1);
    const waits: number[] = [];
    start(() => Promise.reject(new Error('no')), {
      giveUp: ({ attempts }) => (attempts === 4 ? 'given up' : undefined),
    });
    for (let attempt = 1; attempt < 4; attempt++) {
      const [row] = await waitFor('the attempt to be written', async () => {
        const found = await rows();
        return found[0]!.attempts === attempt && found[0]!.due_at!.getTime() < nowMs + leaseMs ? found : undefined;
      });
      waits.push(row!.due_at!.getTime() - nowMs);
      nowMs = row!.due_at!.getTime();
    }
    await allDone();
    expect([waits, (await rows())[0]]).toMatchObject([[1_000, 2_000, 4_000], { result: 'given up', attempts: 4 }]);
  });

  it('of a process that died run when their lease expires', async () => {
    await add(3);
    await sql`update errands set due_at = ${new Date(nowMs + leaseMs)}, attempts = 1`;
    const { begun, run, release } = held();
    start(run);
    nowMs += leaseMs - 1;
    await add(1, 'later');
    await waitFor('what is due', () => begun.length === 1);
    nowMs += 1;
    await waitFor('the others', () => begun.length === 4);
    release();
    await allDone();
  });

  it('keep their lease while they run, however long', async () => {
    await add(1);
    const { begun, run, release } = held();
    start(run, { retries: { leaseMs: 60, backoff: { firstMs: 1_000, longestMs: 60_000 } } });
    await waitFor('it to run', () => begun.length === 1);
    for (let renewal = 0; renewal < 3; renewal++) {
      const until = (await rows())[0]!.due_at!.getTime();
      nowMs += 59;
      await waitFor('the lease to be renewed', async () => (await rows())[0]!.due_at!.getTime() > until);
    }
    start(run);
    await add(1, 'marker');
    await waitFor('what else is due', () => begun.length === 2);
    release();
    await allDone();
    expect((await rows()).map(({ attempts }) => attempts)).toEqual([1, 1]);
  });

  it('whose lease was lost are aborted, and no result of them is written', async () => {
    await add(1);
    const { begun, run } = held();
    const queue = start(run, { retries: { leaseMs: 60, backoff: { firstMs: 1_000, longestMs: 60_000 } } });
    await waitFor('it to run', () => begun.length === 1);
    const elsewhere = new Date(nowMs + 3_600_000);
    await sql`update errands set due_at = ${elsewhere}`;
    nowMs += 50;
    await waitFor('it to be aborted', () => queue.owners.length === 0);
    await queue.stop();
    expect(await rows()).toMatchObject([{ due_at: elsewhere, attempts: 1, result: null }]);
  });

  it('that still run when the queue stops are given back, and the attempt does not count', async () => {
    await add(2);
    const { begun, run } = held();
    const queue = start(run);
    await waitFor('both to run', () => begun.length === 2);
    await queue.stop();
    expect((await rows()).map(({ due_at, attempts }) => [due_at!.getTime(), attempts])).toEqual(
      Array(2).fill([nowMs, 0]),
    );
  });

  it('whose result the database rejects block no other results, and run again after their backoff', async () => {
    await add(20);
    await add(1, 'too long');
    start(async ({ body }) => (body === 'quick' ? 'done' : 'x'.repeat(30)));
    const refused = () => rows().then((all) => all.find(({ body }) => body === 'too long'));
    await waitFor('the others', async () => (await rows()).filter(({ result }) => result === 'done').length === 20);
    await waitFor('its backoff', async () => (await refused())!.due_at!.getTime() === nowMs + 1_000);
    expect(await refused()).toMatchObject({ result: null, attempts: 1 });
  });

  it('whose results cannot be written for now run once, and their results are written later', async () => {
    await add(3);
    const runs: string[] = [];
    let isUnavailable = true;
    const settle: DueWork<Errand, string>['settle'] = async (ended) => {
      if (isUnavailable) throw serviceUnavailable('gateway does not respond; try again shortly');
      await sql`update errands set due_at = null, result = 'done' where id = any(${ended.map(({ row }) => row.id)}::uuid[])`;
    };
    const run = async ({ id }: Errand) => {
      runs.push(id);
      return 'done';
    };
    start(run, { settle });
    await waitFor('all to be run', () => runs.length === 3);
    isUnavailable = false;
    await allDone();
    expect(runs).toHaveLength(3);
  });

  it('whose result cannot be written, whatever the reason, are given up like rows whose run failed', async () => {
    await add(20);
    await add(1, 'unwritable');
    const giveUp = () => 'given up';
    const settle: DueWork<Errand, string>['settle'] = async (ended) => {
      if (ended.some(({ result }) => result === 'unwritable')) throw new TypeError('no result of that kind');
      await sql`
        update errands e set due_at = null, result = done.result
        from unnest(${ended.map(({ row }) => row.id)}::uuid[], ${ended.map(({ result }) => result)}::text[]) as done (id, result)
        where e.id = done.id`;
    };
    start(async ({ body }) => body, { giveUp, settle });
    await allDone();
    expect((await rows()).filter(({ result }) => result === 'given up').map(({ body }) => body)).toEqual([
      'unwritable',
    ]);
  });
});

describe('the slots of a process', () => {
  it('are never all held by accounts whose work hangs: the next account still runs', async () => {
    const hanging = await Promise.all(Array.from({ length: 6 }, () => add(300, 'hangs')));
    const { begun, run } = held();
    start(({ account_id, ...row }, signal) => {
      return row.body === 'hangs' ? run({ account_id, ...row }, signal) : Promise.resolve('done');
    });
    await waitFor('slots to be held', () => begun.length >= 8);
    const other = await add(5);
    const isDone = () => sql`select from errands where account_id = ${other} and result is null`;
    await waitFor('the other account', async () => (await isDone()).length === 0);
    for (const id of hanging) expect(begun.filter((one) => one === id).length).toBeLessThanOrEqual(4);
  });

  it('are given to an account behind very many fast rows of another', async () => {
    await add(2_000);
    nowMs += 1;
    const other = await add(1);
    const ran: string[] = [];
    start(async ({ account_id }) => {
      ran.push(account_id);
      return 'done';
    });
    const isDone = async () =>
      (await sql`select from errands where account_id = ${other} and result = 'done'`).length === 1;
    await waitFor('the other', isDone);
    // Not because of its age: the 200 rows due longest are still the other account's.
    expect(ran.indexOf(other)).toBeLessThan(1_000);
    await waitFor(
      'the many',
      async () => (await sql`select from errands where result is null limit 1`).length === 0,
      60_000,
    );
  }, 90_000);

  it('allow one run to an account after a timeout, and more with each response', async () => {
    const account = await add(1, 'silent');
    const { begun, run, release } = held();
    start(
      ({ body, ...row }, signal) => (body === 'silent' ? Promise.resolve('unknown') : run({ body, ...row }, signal)),
      {
        endOf: (result) => (result === 'unknown' ? 'timeout' : 'responded'),
        // On a busy machine the held runs may take longer than a second, and then fewer would begin.
        concurrency: { most: 16, perLane: 4, expectsSlowRuns: true },
      },
    );
    await allDone();
    await add(10, 'held', account);
    const counts: number[] = [];
    for (const more of [1, 2, 4, 3]) {
      const before = begun.length;
      await waitFor('as many as may run', () => begun.length === before + more);
      // The other account's row is claimed last, so the remaining rows of this account have been looked at.
      const other = await add(1);
      await waitFor('another account', () => begun.includes(other));
      counts.push(begun.filter((id) => id === account).length);
      begun.splice(begun.indexOf(other), 1);
      release();
    }
    expect(counts).toEqual([1, 3, 7, 10]);
    await allDone();
  });
});

describe('a pause', () => {
  it('of the queue begins no runs; due rows run once it is over', async () => {
    paused = { ...nothingPaused, isWhole: true };
    await add(3);
    const { begun, run, release } = held();
    const queue = start(run);
    queue.wake();
    expect(await rows()).toMatchObject(Array(3).fill({ attempts: 0, result: null }));
    paused = nothingPaused;
    queue.wake();
    await waitFor('them to begin', () => begun.length === 3);
    release();
    await allDone();
  });

  it('of an account leaves its rows unclaimed, however many are due before those of others', async () => {
    const account = await add(300);
    paused = { ...nothingPaused, accounts: [account] };
    nowMs += 1_000;
    const others = [await add(1), await add(1), await add(1)];
    const taken: string[] = [];
    start(async ({ account_id }) => {
      taken.push(account_id);
      return 'done';
    });
    await waitFor('those of others', () => taken.length === 3);
    expect(taken.sort()).toEqual(others.sort());
    const left = await sql`select 1 from errands where account_id = ${account} and due_at is not null and attempts = 0`;
    expect(left).toHaveLength(300);
  });
});

it('finds an account among thousands whose rows are due tomorrow, while another holds all the slots it may', async () => {
  await sql`
    insert into errands (account_id, id, body, due_at)
    select gen_random_uuid(), gen_random_uuid(), '', ${new Date(nowMs + 86_400_000)} from generate_series(1, 3000)`;
  await add(60);
  const { begun, run } = held();
  const queue = start(run, { concurrency: { most: 8, perLane: 2 }, everyMs: 600_000, stopMs: 0 });
  await waitFor('its two', () => begun.length === 2);
  nowMs += 1;
  await add(1);
  queue.wake();
  await waitFor('the one of another', () => begun.length === 3);
});
