import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type CalendarAccount, firstDay, mateEmail, openAccount } from './calendar-account.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, median, told } from './figures.ts';
import { closedLoop } from './load.ts';
import { hasPgbench, runPgbench, type Script, scriptOf } from './pgbench.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds, cpuSecondsWithChildren, parentOf, untilIdle } from './process-usage.ts';
import { type LoggedStatement, statementsOf, transactionsOf } from './statement-log.ts';

const rounds = 5;
const roundSeconds = 3;
const clients = 32;
const rivals = 200;
const slotMinutes = 15;
/** Slots used of a teammate; coprime with `stride`, so that stepping by it visits each slot once. */
const slots = 30_000;
const stride = 7_919;

/** Returns the start of the n-th booking of a teammate; they are spread over the year. */
const slotOf = (n: number) => (n * stride) % slots;
const startOf = (slot: number) => new Date(firstDay() + slot * slotMinutes * 60_000);

export const bookingBench: Bench = {
  name: 'booking',
  summary: 'booking under contention, and what is left of the speed of its SQL',
  async measure() {
    const platform = await startPlatform();
    try {
      // Half of the teammates are booked through the platform, the others by pgbench.
      const account = await openAccount(platform, clients * 2, ['00:00', '24:00']);
      const shape = { duration_minutes: slotMinutes, slot_interval_minutes: slotMinutes, window_days: 365 };
      const type = await account.client.createBookingType({
        body: { ...shape, name: 'Call', staff: account.teammates },
      });
      const alone = await account.client.createBookingType({
        body: { ...shape, name: 'Visit', staff: [mateEmail(0)] },
      });
      return [...(await rush(account, alone.id)), ...(await sustained(platform, account, type.id))];
    } finally {
      await platform.stop();
    }
  },
};

/** Measures concurrent bookings of the same time. */
async function rush(account: CalendarAccount, type: number): Promise<Figure[]> {
  const seconds: number[] = [];
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    // After all later bookings: the last slots of the year.
    const startsAt = startOf(slots + round * 4);
    const requests = Array.from({ length: rivals }, () => account.booking({ type, startsAt }));
    const counted: Record<string, number> = {};
    const result = await closedLoop({
      url: account.url,
      connections: rivals,
      next: () => requests.pop(),
      onResponse: ({ status, body }) => {
        const code = status === 201 ? '201' : `${status} ${JSON.parse(body.toString()).error.code}`;
        counted[code] = (counted[code] ?? 0) + 1;
      },
    });
    seconds.push(result.seconds);
    const said = Object.entries(counted)
      .sort()
      .map(([code, count]) => `${count} × ${code}`);
    outcomes.add(said.join(', '));
  }
  return [
    exactly(`${rivals} at once for one time`, [...outcomes].join('; '), `1 × 201, ${rivals - 1} × 409 slot_taken`),
    atMost('all of them responded to, slowest round', Math.max(...seconds), 2, 's'),
  ];
}

/** Measures the maximum booking rate, alternately through the platform and by pgbench. */
async function sustained(platform: ProcessPlatform, account: CalendarAccount, type: number): Promise<Figure[]> {
  const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const server = parentOf(row!.pid);
    const script = hasPgbench() ? await transactionScript(platform, account, type) : undefined;
    const pids = serviceNames.map((name) => platform.pidOf(name)!);
    const [ours, theirs]: [Round[], Round[]] = [[], []];
    let booked = 0;
    const next = () => {
      const n = booked++;
      const startsAt = startOf(slotOf(Math.floor(n / clients) + 1));
      return account.booking({ type, startsAt, staff: mateEmail(n % clients) });
    };
    const used = () => [...pids.map(cpuSeconds), cpuSecondsWithChildren(server)];
    const rounded = async (work: () => Promise<{ perSecond: number; count: number }>): Promise<Round> => {
      const before = used();
      const { perSecond, count } = await work();
      return { perSecond, micros: used().map((seconds, index) => ((seconds - before[index]!) / count) * 1e6) };
    };
    for (let round = 0; round < rounds; round++) {
      ours.push(await rounded(() => platformRound(account.url, next)));
      await settle(sql, pids);
      if (script) theirs.push(await rounded(() => pgbenchRound(platform, sql, script, round)));
    }
    return speedFigures(ours, theirs);
  } finally {
    await sql.end();
  }
}

const serviceNames = ['gateway', 'calendar', 'webhooks'];

/** Bookings per second, and CPU time per booking: of each service, then of PostgreSQL. */
interface Round {
  perSecond: number;
  micros: number[];
}

function speedFigures(ours: Round[], theirs: Round[]): Figure[] {
  const what = 'bookings a second ÷ pgbench with the same SQL';
  const speed = (taken: Round[]) => median(taken.map(({ perSecond }) => perSecond));
  const cost = (taken: Round[], index: number) => median(taken.map(({ micros }) => micros[index]!));
  const costs = serviceNames.map((name, index) => told(`CPU of a booking: ${name}`, cost(ours, index), 'µs'));
  const ofServer = told('CPU of a booking: PostgreSQL', cost(ours, serviceNames.length), 'µs');
  const through = told(`bookings a second through the gateway (${clients} connections)`, speed(ours), '/s');
  if (theirs.length === 0) return [told(what, 'skipped: pgbench is not on PATH'), through, ...costs, ofServer];
  return [
    atLeast(what, speed(ours) / speed(theirs), 0.4),
    through,
    told(`pgbench with ${clients} clients`, speed(theirs), '/s'),
    ...costs,
    ofServer,
    told('CPU of a transaction of pgbench: PostgreSQL', cost(theirs, serviceNames.length), 'µs'),
  ];
}

async function platformRound(url: string, next: () => Buffer): Promise<{ perSecond: number; count: number }> {
  const { responses, seconds, statuses } = await closedLoop({ url, connections: clients, next }, roundSeconds * 1_000);
  if (statuses[201] !== responses) throw new Error(`not all were booked: ${JSON.stringify(statuses)}`);
  return { perSecond: responses / seconds, count: responses };
}

/** Waits until all events are processed, so that no work of one round slows the next. */
async function settle(sql: postgres.Sql, pids: number[]): Promise<void> {
  const isEmpty = async () => (await sql`select 1 from calendar.outbox limit 1`).length === 0;
  await waitFor('the outbox to be empty', isEmpty, 20_000);
  await untilIdle(pids, 20_000);
}

/** Runs pgbench while the service is stopped: otherwise its relay would publish pgbench's events during the measurement. */
async function pgbenchRound(
  platform: ProcessPlatform,
  sql: postgres.Sql,
  script: Script,
  round: number,
): Promise<{ perSecond: number; count: number }> {
  const pid = platform.pidOf('calendar')!;
  process.kill(pid, 'SIGSTOP');
  try {
    const before = await sql`select count(*)::int as count from calendar.appointments`;
    const variables = { n: round * 2_000 };
    const options = { clients, seconds: roundSeconds, variables };
    const { perSecond, transactions } = await runPgbench(platform.databaseUrl, 'calendar,public', script, options);
    const after = await sql`select count(*)::int as count from calendar.appointments`;
    const made = after[0]!.count - before[0]!.count;
    if (made < transactions) throw new Error(`${transactions} transactions of pgbench booked only ${made} times`);
    return { perSecond, count: transactions };
  } finally {
    await sql`delete from calendar.outbox where sequence in (select sequence from calendar.outbox for update skip locked)`;
    await sql`delete from calendar.reminders where id in (select id from calendar.reminders for update skip locked)`;
    process.kill(pid, 'SIGCONT');
  }
}

/** Returns the service's statements for a booking as a script with a new key, time and teammate each time. */
async function transactionScript(platform: ProcessPlatform, account: CalendarAccount, type: number): Promise<Script> {
  const mates = [clients, clients + 1] as const;
  const keys = ['first-key-of-the-bench', 'second-key-of-the-bench'] as const;
  const starts = [startOf(slots + 100), startOf(slots + 200)] as const;
  const book = async (which: 0 | 1) => {
    const staff = mateEmail(mates[which]);
    const request = account.booking({ type, startsAt: starts[which], staff, key: keys[which] });
    const result = await closedLoop({ url: account.url, connections: 1, next: once(request) });
    if (result.statuses[201] !== 1) throw new Error('the booking that was to be written down was refused');
  };
  const logged = await statementsOf(platform.databaseUrl, 'calendar', async () => {
    await book(0);
    await book(1);
  });
  const bookings = transactionsOf(logged).filter((statements) =>
    statements.some(({ text }) => /insert into appointments\b/.test(text)),
  );
  if (bookings.length !== 2)
    throw new Error(`two bookings were sent, and ${bookings.length} found in the server's log`);
  const sql = postgres(platform.databaseUrl, { max: 1 });
  const ids = await sql<{ id: number }[]>`
    select id::int as id from calendar.staff where account_id = ${account.id} order by id`;
  await sql.end();
  const [firstId] = ids.map(({ id }) => id);
  if (firstId === undefined || ids.some(({ id }, index) => id !== firstId + index))
    throw new Error('the ids of the teammates must follow each other for pgbench to count through them');
  const preamble = [
    '\\set n :n + 1',
    `\\set slot (:n * ${stride}) % ${slots}`,
    `\\set mate :client_id + ${clients}`,
    `\\set mate_id :mate + ${firstId}`,
  ];
  const key = "('bench-' || :client_id::text || '-' || :n::text)";
  return scriptOf(bookings as [LoggedStatement[], LoggedStatement[]], preamble, (value, other, define) => {
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

function once(request: Buffer): () => Buffer | undefined {
  const requests = [request];
  return () => requests.pop();
}
