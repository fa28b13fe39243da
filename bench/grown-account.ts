import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { type CalendarAccount, openAccount, slotMinutes, slotsOfDay } from './calendar-account.ts';
import type { Receiver } from './harness.ts';
import { copyContacts, dealPlacesOf, fillTables, insertContacts, insertDeals, insertOrders } from './many-rows.ts';
import { type Customer, customersOf } from './webhooks.ts';

/** Rows at scale 1. */
const rows = {
  contacts: 10_000,
  deals: 10_000,
  orders: 10_000,
  messages: 10_000,
  deliveries: 10_000,
  appointments: 1_000,
  passages: 1_000,
};
const deliveryDays = 20;
const teammates = 10;
/** Number of words, distributed as in a natural language: the n-th word is half as frequent as the word at n ÷ 2. */
const vocabulary = 50_000;
const wordsOfPassage = 120;
const syllables = ['ba', 'co', 'di', 'fu', 'ge', 'la', 'mo', 'ni', 'pe', 'ru', 'sa', 'te', 'vo', 'wi', 'za', 'ka'];

/** Event that an audience's condition counts. */
export const countedEvent = 'cart.abandoned';

/** Account with the rows of one scale in every module except calendar, which has a separate account. */
export interface GrownAccount extends Customer {
  calendar: CalendarAccount;
  bookingType: number;
}

/** Creates accounts with `scale` times the rows of scale 1, as if they had been created over time. */
export async function grownAccount(
  { platform, sql, receiver }: { platform: ProcessPlatform; sql: postgres.Sql; receiver: Receiver },
  scale: number,
): Promise<GrownAccount> {
  const [made] = (await customersOf(platform, receiver, 1)) as [Customer];
  await fillContacts(sql, made.id, scale);
  const places = await dealPlacesOf(made.client);
  await fillTables(sql, ['crm.deals'], (tx) => insertDeals(tx, made.id, rows.deals * scale, places));
  const ordered = ['catalogue.orders', 'catalogue.order_lines'];
  await fillTables(sql, ordered, (tx) => insertOrders(tx, made.id, rows.orders * scale));
  await fillMessages(sql, made.id, rows.messages * scale);
  await fillDeliveries(sql, made, rows.deliveries * scale);
  const calendar = await openAccount(platform, teammates, ['08:00', '18:00']);
  const bookingType = await calendar.bookingType();
  await fillAppointments(sql, calendar, bookingType, rows.appointments * scale);
  for (let file = 0; file < scale; file++) await readFile(made, file);
  return { ...made, calendar, bookingType };
}

/** Inserts contacts, their copies, and for each contact an event from half a day ago; every hundredth is the counted event. */
async function fillContacts(sql: postgres.Sql, accountId: string, scale: number): Promise<void> {
  const copies = ['crm', 'catalogue', 'messaging'] as const;
  await fillTables(sql, ['cdp.contacts', 'cdp.contact_events'], async (tx) => {
    await insertContacts(tx, accountId, rows.contacts * scale);
    await tx`
      insert into cdp.contact_events (account_id, id, contact_id, name, at, properties)
      select account_id, 'event-' || lpad(number::text, 8, '0'), id,
        case when number % 100 = 1 then ${countedEvent} else 'page.viewed' end,
        date_trunc('milliseconds', now()) - interval '12 hours', '{"page":"/products/1234"}'
      from cdp.contacts where account_id = ${accountId} order by number`;
  });
  const tables = copies.map((service) => `${service}.contacts`);
  await fillTables(sql, tables, async (tx) => {
    for (const service of copies) await copyContacts(tx, service, accountId);
  });
}

async function fillMessages(sql: postgres.Sql, accountId: string, count: number): Promise<void> {
  const steps = JSON.stringify([{ channel: 'sms', body: 'Your parcel is on its way.' }]);
  await fillTables(sql, ['messaging.messages', 'messaging.attempts'], async (tx) => {
    await tx`
      insert into messaging.messages (account_id, id, status, given_to, purpose, steps, is_simulated, created_at, sent_at, delivered_at)
      select ${accountId}::uuid, uuidv7(-age), case when n % 10 = 0 then 'failed' else 'delivered' end, '+49301' || lpad(n::text, 7, '0'),
        'transactional', ${steps}::text::jsonb, false, now() - age, now() - age, now() - age
      from generate_series(1, ${count}::int) as n
      cross join lateral (select make_interval(secs => ${count}::int - n) as age) as aged order by n`;
    await tx`
      insert into messaging.attempts (account_id, message_id, number, channel, provider, address, status, tries, started_at, finished_at)
      select account_id, id, 1, 'sms', 'http', given_to, status, 1, sent_at, sent_at
      from messaging.messages where account_id = ${accountId} order by id`;
  });
}

/** Inserts events with one delivery and one try each, evenly over the past days. */
async function fillDeliveries(sql: postgres.Sql, { id, endpoint }: Customer, count: number): Promise<void> {
  await fillTables(sql, ['webhooks.events', 'webhooks.deliveries', 'webhooks.tries'], async (tx) => {
    await tx`
      create temporary table made on commit drop as
      select uuidv7(-age) as event_id, uuidv7(-age) as id, date_trunc('milliseconds', now() - age) as at, ${count} - n + 1 as sequence
      from generate_series(1, ${count}::int) as n
      cross join lateral (select make_interval(secs => n * ${(deliveryDays * 86_400) / count}::float8) as age) as aged`;
    await tx`
      insert into webhooks.events (account_id, id, sequence, type, envelope, matched, taken_at)
      select ${id}::uuid, event_id, sequence, 'contact.created',
        '{"id":"' || event_id || '","filler":"' || repeat('x', 300) || '"}', 1, at
      from made order by sequence`;
    await tx`
      insert into webhooks.event_counters (account_id, last) values (${id}, ${count})
      on conflict (account_id) do update set last = excluded.last`;
    await tx`
      insert into webhooks.deliveries (account_id, id, endpoint_id, event_id, event, url, status, step, tries_made, response_status, created_at)
      select ${id}::uuid, id, ${endpoint}::uuid, event_id, 'contact.created', '', 'delivered', 1, 1, 204, at from made order by sequence`;
    await tx`
      insert into webhooks.tries (account_id, delivery_id, number, at, status, duration_ms, is_manual)
      select ${id}::uuid, id, 1, at, 204, 5, false from made order by sequence`;
  });
}

/** Inserts past appointments of one contact without gaps: each teammate's days are full. */
async function fillAppointments(
  sql: postgres.Sql,
  account: CalendarAccount,
  type: number,
  count: number,
): Promise<void> {
  const tables = ['calendar.appointments', 'calendar.appointment_history'];
  await fillTables(sql, tables, async (tx) => {
    await tx`
      with mates as (
        select id, row_number() over (order by id) - 1 as number from calendar.staff where account_id = ${account.id}
      )
      insert into calendar.appointments (account_id, id, booking_type_id, title, status, contact_id, staff_id, blocked_from, starts_at,
        ends_at, mode, location, meeting_link, notes, source, created_at, updated_at)
      select ${account.id}::uuid, uuidv7(starts_at - now()), ${type}, 'Call', 'completed', ${account.contact}::uuid, mates.id,
        starts_at, starts_at, starts_at + ${slotMinutes}::int * interval '1 minute', 'online', '', '', '', 'api', starts_at, starts_at
      from generate_series(0, ${count - 1}::int) as n
      join mates on mates.number = n % ${teammates}::int
      cross join lateral (select n / ${teammates}::int as slot) as of_mate
      cross join lateral (
        select date_trunc('day', now()) - (1 + slot / ${slotsOfDay}::int) * interval '1 day'
          + interval '8 hours' + slot % ${slotsOfDay}::int * ${slotMinutes}::int * interval '1 minute' as starts_at) as at
      order by n`;
    await tx`
      insert into calendar.appointment_history (account_id, appointment_id, kind, summary, at)
      select account_id, id, 'booked', 'Booked by API', created_at
      from calendar.appointments where account_id = ${account.id} order by id`;
  });
}

/** Uploads a file of a thousand passages, and waits until it is processed. */
async function readFile({ client }: Customer, number: number): Promise<void> {
  const file = new File([someDocument(rows.passages)], `${number}.md`);
  const { id: source_id } = await client.agents.knowledge.files.upload({ body: { file } });
  const read = async () => {
    const { status, error } = await client.agents.knowledge.sources.get({ params: { source_id } });
    if (status === 'failed') throw new Error(`a file could not be read: ${error}`);
    return status === 'ready';
  };
  await waitFor('a file to be read', read, 60_000);
}

/** Returns a random word. */
const someWord = () => wordOf(vocabulary ** Math.random() - 1);

/** Returns the word of a rank. All words differ, and none is an inflection of another. */
function wordOf(rank: number): string {
  const digits = [...(Math.floor(rank) + 4_096).toString(16)];
  return `${digits.map((digit) => syllables[Number.parseInt(digit, 16)]).join('')}x`;
}

/** Returns a Markdown document of passages of 120 words, each under its own heading. */
function someDocument(passages: number): string {
  const words = (count: number) => Array.from({ length: count }, someWord).join(' ');
  return Array.from({ length: passages }, () => `# ${words(2)}\n\n${words(wordsOfPassage)}\n\n`).join('');
}

/** Returns queries of 3 to 12 words: common, rare, mixed, and with words that do not occur. */
export function someQueries(count: number): string[] {
  const common = () => wordOf(Math.random() * 30);
  const rare = () => wordOf(5_000 + Math.random() * (vocabulary - 5_000));
  const kinds = [
    common,
    rare,
    () => (Math.random() < 0.5 ? common() : rare()),
    () => (Math.random() < 0.3 ? `nobody${Math.floor(Math.random() * 1e6)}` : someWord()),
  ];
  return Array.from({ length: count }, (_, index) => {
    const length = 3 + Math.floor(Math.random() * 10);
    return Array.from({ length }, kinds[index % kinds.length]!).join(' ');
  });
}
