import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { claimed, type DueTable } from '../due-work/due-rows.ts';
import { DueWatch } from '../due-work/due-watch.ts';
import type { DueRow, DueWork } from '../due-work/due-work.ts';
import { WorkQueue } from '../due-work/work-queue.ts';
import { nothingPaused, type Paused } from '../queues/pauses.ts';
import { createLogger } from '../telemetry/logging.ts';
import { ClockWork } from './clock-work.ts';
import { Clocks } from './clocks.ts';

const dayMs = 86_400_000;
const log = createLogger('test', 'silent');

interface Chore extends DueRow {
  id: string;
}

const table: DueTable = {
  name: 'chores',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'attempts',
  error: 'last_error',
};

let platform: Platform;
let sql: Database;
let paused: Paused;
let clocks: Clocks;
let clockWork: ClockWork;
let watch: DueWatch;
const queues: WorkQueue<Chore, string>[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  await sql`
    create table chores (account_id uuid, id uuid default gen_random_uuid(), due_at timestamptz, done_at timestamptz,
      attempts integer not null default 0, last_error text, primary key (account_id, id))`;
});
beforeEach(async () => {
  paused = nothingPaused;
  await sql`truncate chores`;
  clocks = new Clocks();
  clockWork = startClockWork();
  watch = new DueWatch(sql, {
    bus: { publishNews: () => undefined, onPeerNews: () => undefined },
    clock: clocks.real,
    log,
    everyMs: 50,
  });
});
afterEach(async () => {
  await Promise.all(queues.splice(0).map((queue) => queue.stop()));
  await clockWork.stop();
  await watch.stop();
});
afterAll(() => platform?.stop());

/** When first woken, it looks at all clocks. */
const startClockWork = () => new ClockWork(sql, { clocks, pauses: { of: () => paused } as never, log });

/** Time of the last claim of each account's rows. */
const claimedAt = new Map<string, Date>();
const membership = { paused: () => paused, failed: () => undefined, close: () => undefined };

/** Starts a queue that runs `run`. Each result is stored with the time at which it was settled. */
function start(run: DueWork<Chore, string>['run']): WorkQueue<Chore, string> {
  const bus = { isConnected: () => true };
  const foundation = { sql, log, clocks, clockWork, bus, queues: { open: () => membership }, watch };
  const queue = new WorkQueue<Chore, string>(foundation, {
    queue: 'chores',
    table,
    concurrency: { most: 8, perLane: 8 },
    retries: { leaseMs: 30_000, backoff: { firstMs: 60_000, longestMs: 60_000 } },
    everyMs: 50,
    stopMs: 1_000,
    claim: async (database, { due, now, leasedUntil }) => {
      const rows = await database<Chore[]>`
        update chores c set ${claimed(database, table, leasedUntil)} from (${due}) as due
        where c.account_id = due.account_id and c.id = due.id
        returning c.account_id, c.id, c.attempts, null as trace`;
      for (const { account_id } of rows) claimedAt.set(account_id, now);
      return rows;
    },
    run,
    async settle(ended) {
      const ids = ended.map(({ row }) => row.id);
      await sql`update chores set due_at = null, done_at = ${clocks.now()} where id = any(${ids}::uuid[])`;
    },
  });
  queues.push(queue);
  return queue;
}

/** Adds a chore of an account, due `afterMs` after real time. */
async function add(account: string, afterMs: number): Promise<void> {
  await sql`insert into chores (account_id, due_at) values (${account}, ${new Date(Date.now() + afterMs)})`;
}

async function sandbox(aheadMs: number): Promise<string> {
  const account = randomUUID();
  await clocks.move(sql, account, aheadMs);
  return account;
}

const doneOf = async (account: string) => {
  const [row] = await sql<{ done_at: Date | null }[]>`select done_at from chores where account_id = ${account}`;
  return row?.done_at;
};

describe('work by the clock of an account', () => {
  it('is taken, run and settled by that clock, and work of other accounts by real time', async () => {
    const [ahead, usual] = [await sandbox(10 * dayMs), randomUUID()];
    await add(ahead, 10 * dayMs - 1_000);
    await add(usual, -1_000);
    const ranAt = new Map<string, Date>();
    start(async ({ account_id }) => {
      ranAt.set(account_id, clocks.now());
      return 'done';
    });
    await waitFor('both chores', async () => (await doneOf(ahead)) && (await doneOf(usual)));
    const daysOf = (at: Date | null | undefined) => Math.round((at!.getTime() - Date.now()) / dayMs) + 0;
    expect([ahead, usual].map((account) => daysOf(ranAt.get(account)))).toEqual([10, 0]);
    expect([daysOf(await doneOf(ahead)), daysOf(await doneOf(usual))]).toEqual([10, 0]);
  });

  it('is taken in a round of its own, which takes no work of other accounts', async () => {
    const [ahead, usual] = [await sandbox(10 * dayMs), randomUUID()];
    await add(usual, 5 * dayMs);
    // Due by real time too.
    await add(ahead, -1_000);
    start(async () => 'done');
    await waitFor('the chore', () => doneOf(ahead));
    expect(claimedAt.get(ahead)!.getTime()).toBeGreaterThan(Date.now() + 9 * dayMs);
    expect([claimedAt.has(usual), await doneOf(usual)]).toEqual([false, null]);
  });

  it('waits for its time by that clock, and reports that time', async () => {
    const ahead = await sandbox(dayMs);
    await add(ahead, dayMs + 3_600_000);
    start(async () => 'done');
    const { waitsFor, nextMs } = await clockWork.look(ahead, null);
    expect(waitsFor).toEqual([]);
    expect(Math.round((nextMs! - Date.now()) / 60_000)).toBe(25 * 60);
    await clocks.move(sql, ahead, dayMs + 3_601_000);
    await waitFor('the chore', () => doneOf(ahead));
    expect(await clockWork.look(ahead, null)).toMatchObject({ waitsFor: [], nextMs: null });
  });

  it('is in progress until it is written, and has no next time meanwhile', async () => {
    const ahead = await sandbox(dayMs);
    await add(ahead, 0);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    start(async () => {
      begin();
      await released;
      return 'done';
    });
    await begun;
    expect(await clockWork.look(ahead, null)).toMatchObject({ waitsFor: ['chores'], nextMs: null });
    release();
    await waitFor('the chore to settle', async () => (await clockWork.look(ahead, null)).waitsFor.length === 0);
    expect(await doneOf(ahead)).toBeTruthy();
  });

  it('is a next time of that clock again after it failed', async () => {
    const ahead = await sandbox(dayMs);
    await add(ahead, 0);
    start(async () => {
      throw new Error('not now');
    });
    const state = await waitFor('the failure', async () => {
      const found = await clockWork.look(ahead, null);
      return found.waitsFor.length === 0 && found.nextMs !== null && found;
    });
    expect(Math.round((state.nextMs! - Date.now() - dayMs) / 60_000)).toBe(1);
  });

  it('holds nothing up while paused, and is taken when the pause ends', async () => {
    const ahead = await sandbox(dayMs);
    paused = { ...nothingPaused, accounts: [ahead] };
    await add(ahead, 0);
    await add(ahead, dayMs + 60_000);
    const queue = start(async () => 'done');
    expect(await clockWork.look(ahead, null)).toMatchObject({ waitsFor: [], nextMs: null });
    paused = nothingPaused;
    expect((await clockWork.look(ahead, null)).waitsFor).toEqual(['chores']);
    queue.wake();
    await waitFor('the chore', async () => (await clockWork.look(ahead, null)).waitsFor.length === 0);
  });

  it('is not looked at repeatedly during slow work if there is nothing to take', async () => {
    const [held, other] = [await sandbox(dayMs), await sandbox(dayMs)];
    await add(held, 0);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const taken: string[] = [];
    const rows = { name: 'chores', due: 'due_at' };
    const slow = { queue: undefined, rows, take: () => released.then(() => false) };
    const idle = { queue: undefined, rows, take: async (account: string) => taken.push(account) === 0 };
    const unregister = [clockWork.register(slow), clockWork.register(idle)];
    clockWork.wake(held);
    await waitFor('the first look', () => taken.includes(held));
    clockWork.wake(held);
    const rounds = 40;
    for (let round = 1; round <= rounds; round++) {
      await sql`delete from chores where account_id = ${other}`;
      await add(other, 0);
      clockWork.wake(other);
      await waitFor('a round of the other', () => taken.filter((account) => account === other).length >= round);
    }
    expect(taken.filter((account) => account === held).length).toBeLessThan(rounds / 2);
    release();
    for (const end of unregister) end();
  });

  it('runs ten rounds of another account for each round of a slow one', async () => {
    const [slow, other] = [await sandbox(dayMs), await sandbox(dayMs)];
    for (const account of [slow, other]) await add(account, 0);
    const taken: string[] = [];
    const unregister = clockWork.register({
      queue: undefined,
      rows: { name: 'chores', due: 'due_at' },
      async take(account) {
        taken.push(account);
        if (account === slow) await sql`select pg_sleep(1.1)`;
        return true;
      },
    });
    try {
      const times = () => taken.flatMap((account, index) => (account === slow ? [index] : []));
      // A stalled machine runs fewer rounds between two of them; a later pair has enough.
      await waitFor('ten rounds between two of the slow account', () => {
        const indexes = times();
        return indexes.some((index, nth) => nth > 0 && index - indexes[nth - 1]! > 10);
      });
    } finally {
      unregister();
    }
  });

  it('does not delay other accounts while it waits for a slot or fails', async () => {
    const accounts = await Promise.all(Array.from({ length: 30 }, () => sandbox(dayMs)));
    for (const account of accounts) await add(account, dayMs - 1_000);
    const [bad] = accounts;
    start(async ({ account_id }) => {
      if (account_id === bad) throw new Error('it is bad');
      return 'done';
    });
    await waitFor('the chores of the others', async () => {
      const [row] = await sql<{ count: number }[]>`select count(done_at)::int as count from chores`;
      return row!.count === accounts.length - 1;
    });
  });
});

describe('looks at clocks', () => {
  /** Registers work that never ends, with a slow look at one account. Returns the accounts taken, in order, and the start times of looks. */
  function registerSlow(slow: string, seconds: number) {
    const [taken, beganMs]: [string[], number[]] = [[], []];
    const unregister = clockWork.register({
      queue: undefined,
      rows: {
        name: 'chores',
        due: 'due_at',
        where: (database) => {
          beganMs.push(performance.now());
          return database`case when t.account_id = ${slow} then pg_sleep(${seconds}) is not null else true end`;
        },
      },
      take: async (account) => {
        taken.push(account);
        return false;
      },
    });
    return { taken, beganMs, unregister };
  }

  it('pause for twenty times their duration if they cover all accounts, however often they are woken', async () => {
    const ahead = await sandbox(dayMs);
    await add(ahead, 0);
    const { beganMs, unregister } = registerSlow(ahead, 0.15);
    const waking = setInterval(() => clockWork.wake(), 5);
    try {
      await waitFor('two looks', () => beganMs.length === 2);
      expect(beganMs[1]! - beganMs[0]!).toBeGreaterThan(20 * 150);
    } finally {
      clearInterval(waking);
      unregister();
    }
  });

  it('do not pause for a named account, which is looked at alone', async () => {
    const slow = await sandbox(dayMs);
    const others = await Promise.all(Array.from({ length: 20 }, () => sandbox(dayMs)));
    for (const account of [slow, ...others]) await add(account, 0);
    await clockWork.stop();
    clockWork = startClockWork();
    const { taken, unregister } = registerSlow(slow, 1.5);
    try {
      clockWork.wake(slow);
      await waitFor('all accounts', () => taken.length === 21);
      clockWork.wake(slow);
      await waitFor('the slow account again', () => taken.filter((account) => account === slow).length === 2);
      expect([taken.length, taken.at(-1)]).toEqual([22, slow]);
    } finally {
      unregister();
    }
  });
});
