import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { type CalendarAccount, firstDay, mateEmail, openAccount, slotMinutes } from './calendar-account.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, median, told } from './figures.ts';
import { connect, startPlatform, watchCpu } from './harness.ts';
import { closedLoop, several } from './load.ts';
import { hasPgbench, runPgbench, type Script, scriptOf } from './pgbench.ts';
import { untilIdle } from './process-usage.ts';
import { type LoggedStatement, statementsOf, transactionsOf } from './statement-log.ts';

const rounds = 5;
const roundSeconds = 3;
const clients = 32;
const rivals = 200;
/** Slots used per teammate; coprime with `stride`, so that stepping by it visits each slot once. */
const slots = 30_000;
const stride = 7_919;
/** Processes whose CPU time is shown. */
const serviceNames = ['gateway', 'calendar', 'webhooks'];

/** Returns the start of the n-th booking of a teammate; the bookings are spread over the year. */
const slotOf = (n: number) => (n * stride) % slots;
const startOf = (slot: number) => new Date(firstDay() + slot * slotMinutes * 60_000);

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  account: CalendarAccount;
  type: number;
}

export const bookingBench: Bench = {
  name: 'booking',
  summary: 'booking under contention, and what is left of the speed of its SQL',
  async measure() {
    const platform = await startPlatform();
    // Half of the teammates are booked through the platform, the others by pgbench.
    const account = await openAccount(platform, clients * 2, ['00:00', '24:00']);
    const [type, alone] = [await account.bookingType(), await account.bookingType([mateEmail(0)])];
    const setting = { platform, sql: connect(platform), account, type };
    return [...(await rush(account, alone)), ...(await sustained(setting))];
  },
};

/** Measures concurrent bookings of the same time. */
async function rush(account: CalendarAccount, type: number): Promise<Figure[]> {
  const seconds: number[] = [];
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    // After all later bookings: the last slots of the year.
    const startsAt = startOf(slots + round * 4);
    const counted: Record<string, number> = {};
    const result = await closedLoop({
      url: account.url,
      connections: rivals,
      next: several(rivals, () => account.booking({ type, startsAt })),
      onResponse: ({ status, body }) => {
        const code = status === 201 ? '201' : `${status} ${JSON.parse(body.toString()).error.code}`;
        counted[code] = (counted[code] ?? 0) + 1;
      },
    });
    seconds.push(result.seconds);
    const said = Object.entries(counted).sort();
    outcomes.add(said.map(([code, count]) => `${count} × ${code}`).join(', '));
  }
  return [
    exactly(`${rivals} at once for one time`, [...outcomes].join('; '), `1 × 201, ${rivals - 1} × 409 slot_taken`),
    atMost('all of them responded to, slowest round', Math.max(...seconds), 2, 's'),
  ];
}

/** Bookings per second, and CPU time per booking: of each service, then of PostgreSQL. */
interface Round {
  perSecond: number;
  micros: number[];
}

/** Measures the maximum booking rate, alternately through the platform and by pgbench. */
async function sustained(setting: Setting): Promise<Figure[]> {
  const { platform, account, type } = setting;
  const script = hasPgbench() ? await transactionScript(setting) : undefined;
  const [ours, theirs]: [Round[], Round[]] = [[], []];
  let booked = 0;
  const next = () => {
    const n = booked++;
    const startsAt = startOf(slotOf(Math.floor(n / clients) + 1));
    return account.booking({ type, startsAt, staff: mateEmail(n % clients) });
  };
  const load = { url: account.url, connections: clients, next, expected: 201 };
  await closedLoop(load, roundSeconds * 1_000);
  await settle(setting);
  for (let round = 0; round < rounds; round++) {
    const used = watchCpu(platform, [...serviceNames, 'postgres']);
    const { responses, seconds } = await closedLoop(load, roundSeconds * 1_000);
    ours.push({ perSecond: responses / seconds, micros: used(responses) });
    await settle(setting);
    if (script) theirs.push(await pgbenchRound(setting, script, round));
  }
  return speedFigures(ours, theirs);
}

function speedFigures(ours: Round[], theirs: Round[]): Figure[] {
  const what = 'bookings a second ÷ pgbench with the same SQL';
  const speed = (taken: Round[]) => median(taken.map(({ perSecond }) => perSecond));
  const cost = (taken: Round[], index: number) => median(taken.map(({ micros }) => micros[index]!));
  const ofServer = serviceNames.length;
  const isCompared = theirs.length > 0;
  return [
    isCompared ? atLeast(what, speed(ours) / speed(theirs), 0.4) : told(what, 'skipped: pgbench is not on PATH'),
    told(`bookings a second through the gateway (${clients} connections)`, speed(ours), '/s'),
    ...(isCompared ? [told(`pgbench with ${clients} clients`, speed(theirs), '/s')] : []),
    ...serviceNames.map((name, index) => told(`CPU of a booking: ${name}`, cost(ours, index), 'µs')),
    told('CPU of a booking: PostgreSQL', cost(ours, ofServer), 'µs'),
    ...(isCompared ? [told('CPU of a transaction of pgbench: PostgreSQL', cost(theirs, ofServer), 'µs')] : []),
  ];
}

/**
 * Waits until all events are processed, so that one round does not slow the next. Then runs ANALYZE, as autovacuum does within a minute:
 * a round is shorter and would be measured with plans for empty tables.
 */
async function settle({ platform, sql }: Setting): Promise<void> {
  const isEmpty = async () => (await sql`select 1 from calendar.outbox limit 1`).length === 0;
  await waitFor('the outbox to be empty', isEmpty, 20_000);
  const pids = serviceNames.map((name) => platform.pidOf(name)!);
  await untilIdle(pids, 20_000);
  await sql`analyze`;
}

/** Runs pgbench while the service is stopped: otherwise its relay would publish pgbench's events during the measurement. */
async function pgbenchRound({ platform, sql }: Setting, script: Script, round: number): Promise<Round> {
  const countBooked = async () =>
    (await sql<{ count: number }[]>`select count(*)::int as count from calendar.appointments`)[0]!.count;
  const pid = platform.pidOf('calendar')!;
  process.kill(pid, 'SIGSTOP');
  try {
    const before = await countBooked();
    const used = watchCpu(platform, [...serviceNames, 'postgres']);
    const ofRound = { ...script, variables: { ...script.variables, n: round * 2_000 } };
    const options = { clients, seconds: roundSeconds };
    const { perSecond, transactions } = await runPgbench(platform.databaseUrl, 'calendar,public', ofRound, options);
    const micros = used(transactions);
    const made = (await countBooked()) - before;
    if (made < transactions) throw new Error(`${transactions} transactions of pgbench booked only ${made} times`);
    return { perSecond, micros };
  } finally {
    await sql`delete from calendar.outbox where sequence in (select sequence from calendar.outbox for update skip locked)`;
    await sql`delete from calendar.reminders where id in (select id from calendar.reminders for update skip locked)`;
    process.kill(pid, 'SIGCONT');
  }
}

/** Returns the service's statements for a booking as a script with a new key, time and teammate each time. */
async function transactionScript({ platform, sql, account, type }: Setting): Promise<Script> {
  const mates = [clients, clients + 1] as const;
  const keys = ['first-key-of-the-bench', 'second-key-of-the-bench'] as const;
  const starts = [startOf(slots + 100), startOf(slots + 200)] as const;
  const book = async (which: 0 | 1) => {
    const request = account.booking({
      type,
      startsAt: starts[which],
      staff: mateEmail(mates[which]),
      key: keys[which],
    });
    await closedLoop({ url: account.url, connections: 1, next: several(1, () => request), expected: 201 });
  };
  const logged = await statementsOf(platform.databaseUrl, 'calendar', async () => {
    await book(0);
    await book(1);
  });
  const isBooking = (statements: LoggedStatement[]) =>
    statements.some(({ text }) => /insert into appointments\b/.test(text));
  const [first, second, ...rest] = transactionsOf(logged).filter(isBooking);
  if (!first || !second || rest.length > 0)
    throw new Error("two bookings were sent, but the server's log contains a different number");
  const firstId = await firstStaffId(sql, account);
  const preamble = [
    '\\set n :n + 1',
    `\\set slot (:n * ${stride}) % ${slots}`,
    `\\set mate :client_id + ${clients}`,
    `\\set mate_id :mate + ${firstId}`,
  ];
  const key = "('bench-' || :client_id::text || '-' || :n::text)";
  return scriptOf([first, second], preamble, (value, other, define) => {
    if (value === String(firstId + mates[0]) && other === String(firstId + mates[1])) return ':mate_id';
    if (value === mateEmail(mates[0])) return "('mate' || :mate::text || '@example.com')";
    if (value.includes(keys[0])) {
      const [head, tail] = value.split(keys[0]) as [string, string];
      return `(${define(head)}::text || ${key} || ${define(tail)}::text)`;
    }
    const aheadMs = Date.parse(value) - starts[0].getTime();
    if (aheadMs !== Date.parse(other) - starts[1].getTime()) return undefined;
    const base = define(new Date(startOf(0).getTime() + aheadMs).toISOString());
    return `(${base}::timestamptz + :slot::int * interval '${slotMinutes} minutes')`;
  });
}

/** Returns the id of the first teammate. Throws if the ids are not consecutive: pgbench computes them by counting. */
async function firstStaffId(sql: postgres.Sql, account: CalendarAccount): Promise<number> {
  const rows = await sql<{ id: number }[]>`
    select id::int as id from calendar.staff where account_id = ${account.id} order by id`;
  const first = rows[0]!.id;
  if (rows.some(({ id }, index) => id !== first + index)) throw new Error('the ids of the teammates have gaps');
  return first;
}
