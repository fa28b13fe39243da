import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { createLogger } from '../telemetry/logging.ts';
import { DueWatch, type WatchedLoop } from './due-watch.ts';

const log = createLogger('test', 'silent');
/** So long that a loop finds nothing unless a test makes it look. */
const everMs = 3_600_000;

let platform: Platform;
let sql: Database;
let nowMs: number;
const watches: DueWatch[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  await sql`create table alarms (id integer primary key, due_at timestamptz)`;
  await sql`create table notes (id integer primary key, account_id uuid)`;
});
beforeEach(async () => {
  nowMs = Date.now();
  await sql`truncate alarms, notes`;
});
afterEach(async () => {
  await Promise.all(watches.splice(0).map((watch) => watch.stop()));
});
afterAll(() => platform?.stop());

/** One process's watch; `peers` are the listeners of the service's other processes. */
function start(everyMs: number, peers: (() => void)[] = []): DueWatch {
  const bus = {
    publishNews: () => {
      for (const hear of peers) hear();
    },
    onPeerNews: (_topic: string, hear: () => void) => void peers.push(hear),
  };
  const watch = new DueWatch(sql, { bus, clock: () => new Date(nowMs), log, everyMs });
  watches.push(watch);
  return watch;
}

/** Runs a loop that rings due alarms and counts its rounds. */
function ring(watch: DueWatch, options: Partial<WatchedLoop> = {}) {
  const seen = { rounds: 0, rung: 0 };
  const watched = { name: 'alarms', rows: [{ name: 'alarms', due: 'due_at' }], everyMs: 20, slowestRetryMs: 20, log };
  watch.run({ ...watched, ...options }, async () => {
    seen.rounds++;
    const { count } = await sql`delete from alarms where due_at <= ${new Date(nowMs)}`;
    seen.rung += count;
    return false;
  });
  return seen;
}

const put = (id: number, inMs: number) => sql`insert into alarms values (${id}, ${new Date(nowMs + inMs)})`;

it('wakes a loop when its next row is due and not before, once told that something was written', async () => {
  const watch = start(everMs);
  const seen = ring(watch);
  await waitFor('the first round', () => seen.rounds === 1);
  await put(1, 400);
  await put(2, everMs);
  watch.lookSoon();
  await waitFor('the alarm to be due', async () => {
    nowMs = Date.now();
    return seen.rung === 1;
  });
  expect(seen.rounds).toBe(2);
});

it('finds unannounced rows of another process after the maximum time between looks', async () => {
  const seen = ring(start(50));
  await waitFor('the first round', () => seen.rounds === 1);
  await put(1, 0);
  await waitFor('the alarm', () => seen.rung === 1);
});

it('rows without a time are due as soon as they exist, and rows with a delay once it has passed after their time', async () => {
  const watch = start(everMs);
  await sql`insert into notes values (1)`;
  await put(1, -60_000);
  const rounds = { notes: 0, past: 0, later: 0 };
  const loop = (name: keyof typeof rounds, rows: WatchedLoop['rows']) =>
    watch.run({ name, rows, everyMs: 20, slowestRetryMs: 20, log }, async () => ++rounds[name] < 0);
  loop('notes', [{ name: 'notes', due: null }]);
  loop('past', [{ name: 'alarms', due: 'due_at', afterMs: 30_000 }]);
  loop('later', [{ name: 'alarms', due: 'due_at', afterMs: 90_000 }]);
  await waitFor('both to be woken again and again', () => rounds.notes > 3 && rounds.past > 3);
  expect(rounds.later).toBe(1);
});

it('tells the other processes of its service that it leaves due rows', async () => {
  const peers: (() => void)[] = [];
  const busy = start(everMs, peers);
  const idle = ring(start(everMs, peers));
  await waitFor('the first round', () => idle.rounds === 1);
  const isFull = async () => false;
  await put(1, 0);
  busy.run({ name: 'full', rows: [{ name: 'alarms', due: 'due_at' }], everyMs: 20, slowestRetryMs: 20, log }, isFull);
  await waitFor('the other process to take it', () => idle.rung === 1);
});

it('a look that fails is retried', async () => {
  const failing = { rounds: 0 };
  const watch = start(50);
  const seen = ring(watch);
  watch.run(
    { name: 'missing', rows: [{ name: 'nowhere', due: null }], everyMs: 20, slowestRetryMs: 20, log },
    async () => {
      failing.rounds++;
      return false;
    },
  );
  await waitFor('the first rounds', () => failing.rounds > 0 && seen.rounds > 0);
  await sql`create table nowhere (id integer, account_id uuid)`;
  await put(1, 0);
  await waitFor('the alarm', () => seen.rung === 1);
  await sql`drop table nowhere`;
});

it('a table that cannot be read, such as a locked one, keeps no loop from the rows of another', async () => {
  const watch = start(everMs);
  const seen = ring(watch);
  const failing = { rounds: 0 };
  const rows = [{ name: 'nowhere', due: null }];
  watch.run({ name: 'nowhere', rows, everyMs: 20, slowestRetryMs: 20, log }, async () => ++failing.rounds < 0);
  await waitFor('the first rounds', () => failing.rounds > 0 && seen.rounds > 0);
  await put(1, 0);
  watch.lookSoon();
  await waitFor('the alarm', () => seen.rung === 1);
  const before = failing.rounds;
  await waitFor('the loop of that table itself', () => failing.rounds > before);
});

it('rows that become due in quick succession do not each cause a look', async () => {
  const looksAtMs: number[] = [];
  // The only row is always 1 ms away.
  const clock = () => {
    looksAtMs.push(performance.now());
    return new Date(nowMs);
  };
  const watch = new DueWatch(sql, {
    bus: { publishNews: () => undefined, onPeerNews: () => undefined },
    clock,
    log,
    everyMs: everMs,
  });
  watches.push(watch);
  await put(1, 1);
  const seen = ring(watch);
  await waitFor('many looks', () => looksAtMs.length > 20);
  expect(looksAtMs[20]! - looksAtMs[1]!).toBeGreaterThan(19 * 30);
  expect(seen.rounds).toBe(1);
});
