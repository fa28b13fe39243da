import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { firstDay, mateEmail } from './calendar-account.ts';
import { type Child, startChild } from './child-process.ts';
import { atMost, type Bench, type Figure, percentile, told } from './figures.ts';
import { countedEvent, type GrownAccount, grownAccount } from './grown-account.ts';
import { inTurn, type Kind } from './in-turn.ts';
import { closedLoop, requestBytes } from './load.ts';
import { someQueries } from './many-passages.ts';
import { startPlatform } from './platform.ts';
import { untilIdle } from './process-usage.ts';
import { arrivalsAt, createdMs } from './webhooks.ts';

const scales = [1, 10, 100];
const calls = 100;
/** Warm-up calls of each kind, not counted: connections are opened and query plans settle. */
const warming = 20;
/** Milliseconds that the counted calls of one kind may take in total: a slow one is measured with fewer calls. */
const patienceMs = 5_000;
const moveRounds = 5;
const moving = 200;
const dayMs = 86_400_000;

/** Median time of each kind of call, in milliseconds, by what it is called. */
type Times = Map<string, { ms: number; readsAll?: true }>;

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  receiver: Child;
  account: GrownAccount;
}

/** A kind of call, and whether it reads all rows. */
interface GrowingKind extends Kind {
  readsAll?: true;
}

/** Measures platforms of 1, 10 and 100 times the rows: a time that grows with their power e has the exponent e, 0 for none. */
export const growthBench: Bench = {
  name: 'growth',
  summary:
    'what calls take with 1, 10 and 100 times the rows of every kind: up to a million contacts, deals, orders, messages, deliveries',
  takesMinutes: 10,
  async measure() {
    const all: Times[] = [];
    for (const scale of scales) all.push(await timesAt(scale));
    return [...all[0]!].map(([what, { readsAll }]) =>
      growthFigure(
        what,
        all.map((times) => times.get(what)!.ms),
        readsAll,
      ),
    );
  },
};

function growthFigure(what: string, times: number[], readsAll?: true): Figure {
  const exponent = Math.log(times.at(-1)! / times[0]!) / Math.log(scales.at(-1)! / scales[0]!);
  const shown = times.map((ms) => ms.toLocaleString('en-GB', { maximumFractionDigits: ms < 10 ? 1 : 0 })).join(' / ');
  const row = `${what}: ${shown} ms; exponent`;
  return readsAll ? told(row, exponent) : atMost(row, exponent, 0.15);
}

async function timesAt(scale: number): Promise<Times> {
  const [receiver, platform] = [await startChild('receiver.ts'), await startPlatform()];
  const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const began = performance.now();
    const account = await grownAccount(platform, sql, receiver, scale);
    await sql`checkpoint`;
    console.log(`${scale} ×: rows made in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    const setting = { platform, sql, receiver, account };
    const pids = platform.processNames.map((name) => platform.pidOf(name)!);
    await untilIdle(pids, 60_000);
    const audience = await audienceTimes(setting);
    // Each that came into the audience is an event, and an account's own wait for each other.
    await waitFor(
      'the outbox to be empty',
      async () => (await sql`select from cdp.outbox limit 1`).length === 0,
      60_000,
    );
    await untilIdle(pids, 60_000);
    return new Map([
      ...(await timesOf(kindsOf(setting, audience.id), platform.gatewayUrl)),
      ...(await deliveryTimes(setting)),
      ...audience.times,
      ...(await duplicateTimes(setting)),
    ]);
  } finally {
    await sql.end();
    await platform.stop();
    await receiver.stop();
  }
}

function kindsOf({ platform, account }: Setting, audienceId: string): GrowingKind[] {
  const { calendar, key, endpoint, bookingType } = account;
  const get = (what: string, path: string, { rows = 50, apiKey = key } = {}): Kind => {
    const request = requestBytes(platform.gatewayUrl, `GET ${path}`, { authorization: `Bearer ${apiKey}` });
    return { what, request: () => request, rows };
  };
  const post = (what: string, path: string, bodies: object[]): Kind => {
    const requests = bodies.map((body) =>
      requestBytes(platform.gatewayUrl, `POST ${path}`, { authorization: `Bearer ${key}` }, JSON.stringify(body)),
    );
    return { what, request: (index) => requests[index % requests.length]! };
  };
  const ofCalendar = { apiKey: calendar.key };
  const day = (number: number) => new Date(firstDay() + number * dayMs).toISOString().slice(0, 10);
  const freeTimes = `booking_type=${bookingType}&from=${day(60)}&to=${day(90)}&limit=1000`;
  return [
    get('contacts', '/v1/cdp/contacts?limit=50'),
    get('contacts with a tag that half have', '/v1/cdp/contacts?limit=50&tag=newsletter'),
    get('contacts, q that one in twenty has', '/v1/cdp/contacts?limit=50&q=maria'),
    get('contacts, q that one has', '/v1/cdp/contacts?limit=50&q=10002711', { rows: 1 }),
    {
      ...get('contacts, q of two letters that none has', '/v1/cdp/contacts?limit=50&q=xq', { rows: 0 }),
      readsAll: true,
    },
    get('members of an audience', `/v1/cdp/audiences/${audienceId}/members?limit=50`),
    get('deals', '/v1/crm/deals?limit=50'),
    get('deals, those won', '/v1/crm/deals?limit=50&status=won'),
    get('orders', '/v1/catalogue/orders?limit=50'),
    get('orders, those fulfilled', '/v1/catalogue/orders?limit=50&status=fulfilled'),
    get('messages', '/v1/messages?limit=50'),
    get('messages, those failed', '/v1/messages?limit=50&status=failed'),
    get('deliveries of an endpoint', `/v1/webhooks/${endpoint}/deliveries?limit=50`),
    get('events', '/v1/events?limit=50'),
    get('appointments', '/v1/calendar/appointments?limit=50', ofCalendar),
    get('free times of 30 days', `/v1/calendar/free-times?${freeTimes}`, { ...ofCalendar, rows: 1_000 }),
    { what: 'a booking', request: (index) => calendar.booking({ type: bookingType, ...slotOf(index) }) },
    post('a deal', '/v1/crm/deals', [{ title: 'Tea' }]),
    post(
      'a search of passages',
      '/v1/agents/knowledge/search',
      someQueries(calls).map((query) => ({ query })),
    ),
  ];
}

/** Returns a time and a teammate that no other index has. */
function slotOf(index: number): { startsAt: Date; staff: string } {
  const [mate, slot] = [index % 10, Math.floor(index / 10)];
  const startsAt = new Date(firstDay() + Math.floor(slot / 40) * dayMs + (8 * 60 + (slot % 40) * 15) * 60_000);
  return { startsAt, staff: mateEmail(mate) };
}

/** Returns the median time of each kind. */
async function timesOf(kinds: GrowingKind[], url: string): Promise<Times> {
  const latencies = await inTurn(url, kinds, { warming, counted: calls, patienceMs });
  return new Map(
    kinds.map(({ what, readsAll }, index) => [
      what,
      { ms: percentile(latencies[index]!, 0.5), ...(readsAll ? { readsAll } : {}) },
    ]),
  );
}

/** Measures contacts that are made one after the other, and their way to the endpoint. */
async function deliveryTimes({ platform, receiver, account }: Setting): Promise<Times> {
  await arrivalsAt(receiver);
  const made: number[] = [];
  const delays: number[] = [];
  for (let call = 0; call < calls + warming; call++) {
    let left = 1;
    const load = { url: platform.gatewayUrl, connections: 1, next: () => (left-- > 0 ? account.request : undefined) };
    const { latenciesMs, statuses } = await closedLoop(load);
    if (statuses[201] !== 1) throw new Error(`a contact got ${JSON.stringify(statuses)}`);
    const arrived = await waitFor('the webhook', async () => (await arrivalsAt(receiver))[0], 10_000);
    if (call < warming) continue;
    made.push(latenciesMs[0]!);
    delays.push(arrived.at - createdMs(arrived.id));
  }
  return new Map([
    ['a contact', { ms: percentile(made, 0.5) }],
    ['from a contact to the first try of its webhook', { ms: percentile(delays, 0.5) }],
  ]);
}

/** Measures an audience, which a hundredth of the contacts belong to, and contacts that events move in. */
async function audienceTimes(setting: Setting): Promise<{ id: string; times: Times }> {
  const { client } = setting.account;
  const counted = { type: 'event' as const, op: 'did' as const, name: countedEvent, days: 30, at_least: 1 };
  const tagged = { type: 'tag' as const, op: 'has' as const, tag: 'vip' };
  const rules = { match: 'all' as const, conditions: [counted, tagged] };
  const postedAt = performance.now();
  const { id } = await client.createAudience({ body: { name: 'Left their cart', rules } });
  const read = () => client.getAudience({ params: { audience_id: id } });
  await waitFor('the audience', async () => (await read()).status === 'ready', 120_000);
  const readyMs = performance.now() - postedAt;
  const movedMs: number[] = [];
  for (let round = 0; round < moveRounds; round++) movedMs.push(await moveIn(round, setting, read));
  return {
    id,
    times: new Map([
      ['an audience that a hundredth belong to, until it is ready', { ms: readyMs, readsAll: true }],
      [`${moving} events that move a contact in each, until all have`, { ms: percentile(movedMs, 0.5) }],
    ]),
  };
}

/** Sends events that move a contact in each; returns the milliseconds from the response until the audience has them all. */
async function moveIn(
  round: number,
  { sql, account }: Setting,
  read: () => Promise<{ members: number }>,
): Promise<number> {
  const { members } = await read();
  const movers = await sql<{ id: string }[]>`
    select id from cdp.contacts where account_id = ${account.id} and number % 4 = 2 and number / 10 % 2 = 0
    order by number limit ${moving} offset ${round * moving}`;
  const at = new Date().toISOString();
  const events = movers.map(({ id }, index) => ({ id: `move-${round}-${index}`, contact: id, name: countedEvent, at }));
  await account.client.recordEvents({ body: { events } });
  const sentAt = performance.now();
  await waitFor('the members to move in', async () => (await read()).members === members + moving, 120_000);
  return performance.now() - sentAt;
}

async function duplicateTimes({ account: { client } }: Setting): Promise<Times> {
  const askedAt = performance.now();
  await client.findDuplicates({ body: {} });
  const areThere = async () => (await client.listDuplicates({ query: { limit: 1 } })).data.length > 0;
  await waitFor('the duplicates', areThere, 300_000);
  return new Map([['duplicates, until they are found', { ms: performance.now() - askedAt, readsAll: true }]]);
}
