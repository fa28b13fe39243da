import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type CalendarAccount, firstDay, openAccount } from './calendar-account.ts';
import { type Child, startChild } from './child-process.ts';
import { type Bench, type Figure, told } from './figures.ts';
import { idleFigures } from './idle.ts';
import { closedLoop, requestBytes } from './load.ts';
import { type MessageProvider, startMessageProvider } from './message-provider.ts';
import { cpuOf, pidsOf, startPlatform } from './platform.ts';
import { untilIdle } from './process-usage.ts';

const times = 1_000;
const connections = 16;
const slotMinutes = 15;
const waitMs = 60_000;

/** Tables whose rows end, by how many days they are kept; those of all others are kept for good. */
const keptDays: Record<string, string> = {
  idempotency: '1 day',
  outbox: '7 days',
  published: '7 days',
  inbox: '45 days',
  events: '30 days',
  deliveries: '30 days',
  tries: '30 days',
};
const forGood = 'for good';

/** Measures what one of each thing leaves behind and takes: the sums of docs/scaling.md are made of it. */
export const scalingBench: Bench = {
  name: 'scaling',
  summary:
    'rows, bytes and processor time of an account, a booking, a delivery, a read and a message, and what an idle platform takes',
  async measure() {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      const receiver = await startChild('receiver.ts');
      stops.push(() => receiver.stop());
      const provider = await startMessageProvider();
      stops.push(() => provider.stop());
      const platform = await startPlatform();
      stops.push(() => platform.stop());
      const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
      stops.push(() => sql.end());
      return await measure({ platform, sql, receiver, provider });
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  receiver: Child;
  provider: MessageProvider;
}

async function measure(setting: Setting): Promise<Figure[]> {
  const { platform, receiver, provider } = setting;
  const idle = await idleFigures(setting);
  const account = await costOf(setting, 'an account', 100, async (count) => {
    for (let made = 0; made < count; made++) await platform.account();
  });
  const calendar = await openAccount(platform, 1, ['00:00', '24:00']);
  const book = bookerOf(calendar, await bookingType(calendar));
  const booking = await costOf(setting, 'a booking', times, (count) => sent(calendar.url, book, count, 201));
  await calendar.client.createEndpoint({ body: { url: receiver.url, events: ['appointment.booked'] } });
  const announced = await costOf(setting, 'a booking that a webhook tells', times, (count) =>
    sent(calendar.url, book, count, 201),
  );
  const { data } = await calendar.client.listAppointments({ query: { limit: 1 } });
  const get = `GET /v1/calendar/appointments/${data[0]!.id}`;
  const look = requestBytes(calendar.url, get, { authorization: `Bearer ${calendar.key}` });
  const read = await costOf(setting, 'a read of a booking', times, (count) =>
    sent(calendar.url, () => look, count, 200),
  );
  const send = await senderOf(platform, provider);
  const message = await costOf(setting, 'a message', times, (count) =>
    sent(platform.gatewayUrl, () => send, count, 202),
  );
  return [...idle, ...account, ...booking, ...announced, ...read, ...message];
}

async function bookingType({ client, teammates }: CalendarAccount): Promise<number> {
  const shape = { duration_minutes: slotMinutes, slot_interval_minutes: slotMinutes, window_days: 365 };
  return (await client.createBookingType({ body: { ...shape, name: 'Call', staff: teammates } })).id;
}

function bookerOf(account: CalendarAccount, type: number): () => Buffer {
  let booked = 0;
  return () => account.booking({ type, startsAt: new Date(firstDay() + booked++ * slotMinutes * 60_000) });
}

async function senderOf(platform: ProcessPlatform, provider: MessageProvider): Promise<Buffer> {
  const { key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const settings = { url: `${provider.url}/sms/0` };
  await client.putChannel({ params: { channel: 'sms' }, body: { provider: 'http', settings } });
  const body = JSON.stringify({
    to: '+4930901820',
    channels: [{ channel: 'sms', body: 'Your parcel is on its way.' }],
  });
  return requestBytes(platform.gatewayUrl, 'POST /v1/messages', { authorization: `Bearer ${key}` }, body);
}

async function sent(url: string, request: () => Buffer, count: number, status: number): Promise<void> {
  let left = count;
  const next = () => (left-- > 0 ? request() : undefined);
  const { statuses } = await closedLoop({ url, connections, next });
  if (statuses[status] !== count) throw new Error(`not all were ${status}: ${JSON.stringify(statuses)}`);
}

/** Rows and bytes in PostgreSQL by how long they are kept, the bytes of events in NATS, and the processor seconds of everything. */
interface Use {
  rows: Record<string, number>;
  bytes: Record<string, number>;
  bus: number;
  cpu: number;
}

async function costOf(
  setting: Setting,
  name: string,
  count: number,
  work: (count: number) => Promise<void>,
): Promise<Figure[]> {
  // The first of a kind makes files and pages that all share.
  await work(Math.ceil(count / 10));
  const before = await useOf(setting);
  await work(count);
  const after = await useOf(setting);
  const each = (of: (use: Use) => number) => (of(after) - of(before)) / count;
  const kept = Object.keys(after.rows).filter((days) => each(({ rows }) => rows[days] ?? 0) > 0.05);
  const figures = [
    told(`CPU of ${name}, all processes and servers`, each(({ cpu }) => cpu) * 1e6, 'µs'),
    ...kept.map((days) => {
      const [rows, bytes] = [each((use) => use.rows[days] ?? 0), each((use) => use.bytes[days] ?? 0)];
      return told(`rows of ${name}, kept ${days}`, `${rows.toFixed(1)} with ${Math.round(bytes)} bytes`);
    }),
  ];
  const onBus = each(({ bus }) => bus);
  if (onBus >= 1) figures.push(told(`bytes of ${name} on the bus, kept 7 days`, onBus));
  return figures;
}

async function useOf({ platform, sql }: Setting): Promise<Use> {
  const pids = pidsOf(platform);
  await waitFor('the outboxes to be empty', async () => (await waiting(sql)) === 0, waitMs);
  await untilIdle(pids, waitMs);
  const use: Use = { rows: {}, bytes: {}, bus: bytesIn(platform.dataOf('nats')), cpu: cpuOf(pids) };
  for (const { parent, rows, bytes } of await tablesOf(sql)) {
    const days = keptDays[parent] ?? forGood;
    use.rows[days] = (use.rows[days] ?? 0) + rows;
    use.bytes[days] = (use.bytes[days] ?? 0) + bytes;
  }
  return use;
}

/** Counts the events that wait for the bus and the deliveries that wait for a try. */
async function waiting(sql: postgres.Sql): Promise<number> {
  let count = 0;
  for (const schema of await schemasOf(sql)) count += (await sql`select from ${sql(schema)}.outbox`).length;
  return count + (await sql`select from webhooks.deliveries where status = 'pending'`).length;
}

async function schemasOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<
    { schema: string }[]
  >`select table_schema as schema from information_schema.tables where table_name = 'outbox'`;
  return rows.map(({ schema }) => schema);
}

/** Returns every table with its rows, and its bytes with indexes and long values; a partition under the name of its parent. */
async function tablesOf(sql: postgres.Sql): Promise<{ parent: string; rows: number; bytes: number }[]> {
  return await sql`
    select coalesce(parent.relname, c.relname) as parent, pg_total_relation_size(c.oid)::float8 as bytes,
      (xpath('/row/count/text()', query_to_xml(format('select count(*) from %I.%I', n.nspname, c.relname), false, true, '')))[1]::text::float8 as rows
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
    where c.relkind = 'r' and n.nspname = any(${await schemasOf(sql)})`;
}

function bytesIn(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
