import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { bookableSlot, dateOf, mateEmail } from './calendar-account.ts';
import { atMost, type Bench, type Figure, median, told } from './figures.ts';
import { countedEvent, type GrownAccount, grownAccount, someQueries } from './grown-account.ts';
import { connect, type Receiver, startPlatform, startReceiver, stopAll } from './harness.ts';
import { inTurn, type Kind } from './in-turn.ts';
import { closedLoop, requestBytes, several } from './load.ts';
import { untilIdle } from './process-usage.ts';
import { createdMs } from './rounds.ts';

const scales = [1, 10, 100];
const calls = 100;
/** Warm-up calls of each kind, not counted: connections are opened and query plans settle. */
const warming = 20;
const moveRounds = 5;
const moving = 200;
/** The same queries at every scale. */
const queries = someQueries(calls);

/** Calls that must read all rows, so that their time has no target. */
const lettersOfNone = 'contacts, q of two letters that none has';
const newAudience = 'an audience that a hundredth belong to, until it is ready';
const allDuplicates = 'duplicates, until they are found';
const readsAll = new Set([lettersOfNone, newAudience, allDuplicates]);

/** Median time of each kind of call, in milliseconds, by label. */
type Times = Map<string, number>;

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  receiver: Receiver;
  account: GrownAccount;
}

/** Measures platforms with 1, 10 and 100 times the rows. A time that grows with the e-th power of the rows has the exponent e. */
export const growthBench: Bench = {
  name: 'growth',
  summary:
    'what calls take with 1, 10 and 100 times the rows of every kind: up to a million contacts, deals, orders, messages, deliveries',
  takesMinutes: 10,
  async measure() {
    const all: Times[] = [];
    for (const scale of scales) all.push(await timesAt(scale));
    return [...all[0]!.keys()].map((what) =>
      growthFigure(
        what,
        all.map((times) => times.get(what)!),
      ),
    );
  },
};

function growthFigure(what: string, times: number[]): Figure {
  const exponent = Math.log(times.at(-1)! / times[0]!) / Math.log(scales.at(-1)! / scales[0]!);
  const shown = times.map((ms) => ms.toLocaleString('en-GB', { maximumFractionDigits: ms < 10 ? 1 : 0 })).join(' / ');
  const row = `${what}: ${shown} ms; exponent`;
  return readsAll.has(what) ? told(row, exponent) : atMost(row, exponent, 0.15);
}

async function timesAt(scale: number): Promise<Times> {
  const [receiver, platform] = [await startReceiver(), await startPlatform()];
  const sql = connect(platform);
  const began = performance.now();
  const account = await grownAccount({ platform, sql, receiver }, scale);
  await sql`checkpoint`;
  console.log(`${scale} ×: rows made in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  const setting = { platform, sql, receiver, account };
  const pids = platform.processNames.map((name) => platform.pidOf(name)!);
  await untilIdle(pids, 60_000);
  const audience = await audienceTimes(setting);
  // Each contact that joined the audience causes an event, and events of one account are published in sequence.
  const isPublished = async () => (await sql`select from cdp.outbox limit 1`).length === 0;
  await waitFor('the outbox to be empty', isPublished, 60_000);
  await untilIdle(pids, 60_000);
  const times: Times = new Map([
    ...(await timesOf(kindsOf(setting, audience.id), platform.gatewayUrl)),
    ...(await deliveryTimes(setting)),
    ...audience.times,
    ...(await duplicateTimes(setting)),
  ]);
  await stopAll();
  return times;
}

function kindsOf({ platform, account }: Setting, audienceId: string): Kind[] {
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
  const freeTimes = `booking_type=${bookingType}&from=${dateOf(60)}&to=${dateOf(90)}&limit=1000`;
  return [
    get('contacts', '/v1/cdp/contacts?limit=50'),
    get('contacts with a tag that half have', '/v1/cdp/contacts?limit=50&tag=newsletter'),
    get('contacts, q that one in twenty has', '/v1/cdp/contacts?limit=50&q=maria'),
    get('contacts, q that one has', '/v1/cdp/contacts?limit=50&q=10002711', { rows: 1 }),
    get(lettersOfNone, '/v1/cdp/contacts?limit=50&q=xq', { rows: 0 }),
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
    {
      what: 'a booking',
      request: (index) => {
        const [staff, startsAt] = [mateEmail(index % 10), bookableSlot(Math.floor(index / 10))];
        return calendar.booking({ type: bookingType, startsAt, staff });
      },
    },
    post('a deal', '/v1/crm/deals', [{ title: 'Tea' }]),
    post(
      'a search of passages',
      '/v1/agents/knowledge/search',
      queries.map((query) => ({ query })),
    ),
  ];
}

/** Returns the median time of each kind. */
async function timesOf(kinds: Kind[], url: string): Promise<Times> {
  const latencies = await inTurn(url, kinds, { warming, counted: calls });
  return new Map(kinds.map(({ what }, index) => [what, median(latencies[index]!)]));
}

/** Measures the sequential creation of contacts, and the time until their webhooks arrive. */
async function deliveryTimes({ platform, receiver, account }: Setting): Promise<Times> {
  await receiver.arrivals();
  const made: number[] = [];
  const delays: number[] = [];
  for (let call = 0; call < calls + warming; call++) {
    const next = several(1, () => account.request);
    const { latenciesMs } = await closedLoop({ url: platform.gatewayUrl, connections: 1, next, expected: 201 });
    const arrived = await waitFor('the webhook', async () => (await receiver.arrivals())[0], 10_000);
    if (call < warming) continue;
    made.push(...latenciesMs);
    delays.push(arrived.at - createdMs(arrived.id));
  }
  return new Map([
    ['a contact', median(made)],
    ['from a contact to the first try of its webhook', median(delays)],
  ]);
}

/** Measures an audience that contains one in a hundred contacts, and contacts that events add to it. */
async function audienceTimes(setting: Setting): Promise<{ id: string; times: Times }> {
  const { client } = setting.account;
  const counted = { type: 'event' as const, op: 'did' as const, name: countedEvent, days: 30, at_least: 1 };
  const tagged = { type: 'tag' as const, op: 'has' as const, tag: 'vip' };
  const rules = { match: 'all' as const, conditions: [counted, tagged] };
  const postedAt = performance.now();
  const { id } = await client.cdp.audiences.create({ body: { name: 'Left their cart', rules } });
  const read = () => client.cdp.audiences.get({ params: { audience_id: id } });
  await waitFor('the audience', async () => (await read()).status === 'ready', 120_000);
  const readyMs = performance.now() - postedAt;
  const movedMs: number[] = [];
  for (let round = 0; round < moveRounds; round++) movedMs.push(await moveIn(round, setting, read));
  return {
    id,
    times: new Map([
      [newAudience, readyMs],
      [`${moving} events that move a contact in each, until all have`, median(movedMs)],
    ]),
  };
}

/** Sends events that each add one contact; returns the milliseconds from the response until the audience contains them all. */
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
  await account.client.cdp.events.record({ body: { events } });
  const sentAt = performance.now();
  await waitFor('the members to move in', async () => (await read()).members === members + moving, 120_000);
  return performance.now() - sentAt;
}

async function duplicateTimes({ account: { client } }: Setting): Promise<Times> {
  const askedAt = performance.now();
  await client.cdp.duplicates.find({ body: {} });
  const areThere = async () => (await client.cdp.duplicates.list({ query: { limit: 1 } })).data.length > 0;
  await waitFor('the duplicates', areThere, 300_000);
  return new Map([[allDuplicates, performance.now() - askedAt]]);
}
