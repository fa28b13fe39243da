import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { type CalendarAccount, firstDay, openAccount } from './calendar-account.ts';
import { atMost, type Figure, told } from './figures.ts';
import { fillTables } from './many-rows.ts';
import type { MessageProvider } from './message-provider.ts';
import { watchMemory } from './process-usage.ts';

const reminders = 100_000;
const teammates = 50;
const slotMinutes = 15;
const channel = 'whatsapp';
/** Timeout in milliseconds; after it the figures show what is missing. */
const patienceMs = 400_000;
const lookEveryMs = 500;
const restMs = 10_000;

/** Counts of provider calls. */
interface Sent {
  /** Calls per appointment, by the id in its message text, and per attempt. */
  byAppointment: Map<string, number>;
  byAttempt: Map<string, number>;
  /** Calls per second of the clock. */
  bySecond: Map<number, number>;
  lastAt: number;
}

/**
 * Measures reminders of one account that are due at the same moment. Calendar's rows are bulk inserted, the reminders last: their
 * commit is that moment. When half of them have been sent, the messaging process is killed; its supervisor restarts it.
 */
export async function manyReminders(
  platform: ProcessPlatform,
  provider: MessageProvider,
  sql: postgres.Sql,
): Promise<Figure[]> {
  const account = await openAccount(platform, teammates, ['00:00', '24:00']);
  const settings = { url: `${provider.url}/reminders` };
  await account.client.putChannel({ params: { channel }, body: { provider: 'http', settings } });
  await fillAppointments(sql, account);
  const sent: Sent = { byAppointment: new Map(), byAttempt: new Map(), bySecond: new Map(), lastAt: 0 };
  await provider.arrivals();
  const memory = watchMemory(platform.pidOf('messaging')!);
  const dueAt = await makeDue(sql, account.id);
  const isHalfSent = async () => (await look(provider, sent)) >= reminders / 2;
  await waitUntil(isHalfSent, dueAt + patienceMs / 2);
  const memoryBefore = memory.stop();
  const pid = await restart(platform);
  const memoryAfter = watchMemory(pid);
  const isOver = async () => (await look(provider, sent)) > reminders * 0.99 && (await areOver(sql, account.id));
  await waitUntil(isOver, dueAt + patienceMs);
  const overAt = Date.now();
  await new Promise((resolve) => setTimeout(resolve, restMs));
  await look(provider, sent); // late arrivals
  const most = Math.max(memoryBefore, memoryAfter.stop());
  return reminderFigures(sent, await unknownOnes(sql, account.id), { dueAt, overAt, most });
}

function reminderFigures(
  { byAppointment, byAttempt, bySecond, lastAt }: Sent,
  unknown: string[],
  { dueAt, overAt, most }: { dueAt: number; overAt: number; most: number },
): Figure[] {
  const twice = (counts: Map<string, number>) => [...counts.values()].filter((count) => count > 1).length;
  const unsent = unknown.filter((appointment) => !byAppointment.has(appointment)).length;
  const missing = reminders - byAppointment.size - unsent;
  const what = `${reminders.toLocaleString('en-GB')} reminders of one account, due at once`;
  return [
    atMost(`${what}: from then until the last is sent`, (lastAt - dueAt) / 1_000, 300, 's'),
    told('until none is under way, those that a kill cut off included', (overAt - dueAt) / 1_000, 's'),
    atMost('of them sent twice, though the process was killed halfway', twice(byAppointment), 0),
    atMost('of their attempts made twice', twice(byAttempt), 0),
    atMost('of them neither sent nor ended as unknown', missing, 0),
    told(
      'of them ended as unknown by the kill',
      `${unknown.length}, of which ${unknown.length - unsent} had been sent`,
    ),
    told('most sends in one second', Math.max(0, ...bySecond.values()), '/s'),
    told('memory of messaging over it', most, 'MiB'),
  ];
}

/** Inserts future appointments, one contact each, into calendar and messaging; the text of each has its id. */
async function fillAppointments(sql: postgres.Sql, { id, client, teammates: staff }: CalendarAccount): Promise<void> {
  const shape = { duration_minutes: slotMinutes, slot_interval_minutes: slotMinutes, window_days: 365 };
  const type = await client.createBookingType({ body: { ...shape, name: 'Check-up', staff } });
  const rows = await sql<
    { id: number }[]
  >`select id::int as id from calendar.staff where account_id = ${id} order by id`;
  const ids = rows.map((row) => row.id);
  const first = new Date(firstDay());
  const tables = ['calendar.contacts', 'messaging.contacts', 'calendar.appointments', 'calendar.appointment_history'];
  await fillTables(sql, tables, async (tx) => {
    await tx`
      create temporary table visits on commit drop as
      select n, uuidv7() as contact_id, uuidv7() as id from generate_series(0, ${reminders - 1}::int) as n`;
    for (const service of ['calendar', 'messaging']) {
      await tx`
        insert into ${tx(`${service}.contacts`)} (account_id, id, name, phone, sequence)
        select ${id}::uuid, contact_id, 'Ada Lovelace ' || n, '+49301' || lpad(n::text, 7, '0'), n + 1 from visits order by n`;
    }
    await tx`
      insert into calendar.appointments (account_id, id, booking_type_id, title, status, contact_id, staff_id, blocked_from, starts_at,
        ends_at, mode, location, meeting_link, notes, source, created_at, updated_at)
      select ${id}::uuid, v.id, ${type.id}, 'Check-up', 'confirmed', contact_id, (${ids}::bigint[])[1 + n % ${ids.length}::int], starts_at,
        starts_at, starts_at + ${slotMinutes}::int * interval '1 minute', 'online', '', 'https://meet.example.com/' || v.id, '', 'api', now(), now()
      from visits v
      cross join lateral (
        select ${first}::timestamptz + n / ${ids.length}::int * ${slotMinutes}::int * interval '1 minute' as starts_at) as at
      order by n`;
    await tx`
      insert into calendar.appointment_history (account_id, appointment_id, kind, summary, at)
      select ${id}::uuid, id, 'booked', 'Booked by API', now() from visits order by n`;
  });
}

/** Makes a reminder of every appointment due now; returns the time in milliseconds. */
async function makeDue(sql: postgres.Sql, accountId: string): Promise<number> {
  await sql`
    insert into calendar.reminders (account_id, appointment_id, channel, minutes_before, due_at)
    select account_id, id, ${channel}, extract(epoch from starts_at - now()) / 60, now()
    from calendar.appointments where account_id = ${accountId} order by id`;
  return Date.now();
}

/** Counts the provider's new calls; returns the number of appointments with a call so far. */
async function look(provider: MessageProvider, sent: Sent): Promise<number> {
  const increment = <Key>(counts: Map<Key, number>, key: Key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { attempt, body, at } of await provider.arrivals()) {
    const appointment = /https:\/\/meet\.example\.com\/([0-9a-f-]{36})/.exec(body)?.[1];
    if (appointment === undefined) throw new Error(`a message names no appointment: ${body}`);
    increment(sent.byAppointment, appointment);
    increment(sent.byAttempt, attempt);
    increment(sent.bySecond, Math.floor(at / 1_000));
    sent.lastAt = Math.max(sent.lastAt, at);
  }
  return sent.byAppointment.size;
}

/** Kills the messaging process; returns the id of its replacement. */
async function restart(platform: ProcessPlatform): Promise<number> {
  const killed = platform.pidOf('messaging')!;
  platform.kill('messaging');
  const replacement = () => {
    const pid = platform.pidOf('messaging');
    return pid === killed ? undefined : pid;
  };
  return await waitFor('the messages to be started again', replacement, 30_000);
}

/** Returns whether every reminder has become a message with no pending attempt. */
async function areOver(sql: postgres.Sql, accountId: string): Promise<boolean> {
  const [row] = await sql<{ over: number }[]>`
    select count(*)::int as over from messaging.attempts
    where account_id = ${accountId} and due_at is null and running_since is null`;
  return row!.over >= reminders;
}

/** Returns the appointments whose message has an unknown outcome. */
async function unknownOnes(sql: postgres.Sql, accountId: string): Promise<string[]> {
  const rows = await sql<{ appointment: string }[]>`
    select distinct replace(m.reference, 'appointment-', '') as appointment
    from messaging.attempts a join messaging.messages m on m.account_id = a.account_id and m.id = a.message_id
    where a.account_id = ${accountId} and a.status = 'unknown'`;
  return rows.map(({ appointment }) => appointment);
}

/** Polls a condition until it holds or `deadline` passes. */
async function waitUntil(isSo: () => Promise<boolean>, deadline: number): Promise<void> {
  while (!(await isSo()) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
}
