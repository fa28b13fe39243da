import { type Client, createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { atLeast, atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { connect, type Receiver, startPlatform, startReceiver, watchCpu } from './harness.ts';
import { openLoop, requestBytes } from './load.ts';
import { untilIdle } from './process-usage.ts';
import { arrivedFigure, byTurns, delayOf, delaysAt, disturbedFigures, type Round } from './rounds.ts';

const accounts = 10;
const drains = 3;
const backlog = 20_000;
const eventsPerSecond = 300;
const roundMs = 5_000;
/** Accounts that cause a tenth of all events, and the number of endpoints of each: the maximum. */
const crowd = { accounts: 6, endpoints: 20 };

/** Account with one endpoint, and the request that creates a contact, whose event is delivered. */
export interface Customer {
  id: string;
  key: string;
  client: Client;
  request: Buffer;
  endpoint: string;
}

interface Setting {
  platform: ProcessPlatform;
  receiver: Receiver;
  sql: postgres.Sql;
  customers: Customer[];
}

export const webhooksBench: Bench = {
  name: 'webhooks',
  summary: 'deliveries of 1 KB, each with a durable try; service and receiver on the same machine',
  async measure() {
    const receiver = await startReceiver();
    const platform = await startPlatform();
    const customers = await customersOf(platform, receiver, accounts);
    const setting = { platform, receiver, sql: connect(platform), customers };
    return [...(await latency(setting)), ...(await drain(setting))];
  },
};

/** Creates accounts with an endpoint each at the receiver. */
export async function customersOf(platform: ProcessPlatform, receiver: Receiver, count: number): Promise<Customer[]> {
  const create = async () => {
    const { id, key } = await platform.account();
    const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
    const { id: endpoint } = await client.webhooks.create({ body: { url: receiver.url, events: ['contact.*'] } });
    // With these fields the envelope is about a kilobyte.
    const body = JSON.stringify({ name: 'Ada Lovelace', phone: '+4930901820', fields: { note: 'x'.repeat(600) } });
    const headers = { authorization: `Bearer ${key}` };
    const request = requestBytes(platform.gatewayUrl, 'POST /v1/cdp/contacts', headers, body);
    return { id, key, client, request, endpoint };
  };
  return await Promise.all(Array.from({ length: count }, create));
}

/**
 * Measures events of contacts created through the gateway at a steady rate: from the event's timestamp, which is set before the
 * commit, to the arrival of its first try. Rounds alternate: undisturbed, every tenth event for one hanging endpoint, and for 120.
 */
async function latency(setting: Setting): Promise<Figure[]> {
  const calmTenth = setting.customers.slice(-1);
  const [oneTenth, crowdTenth] = [await bareAccounts(setting, 1), await bareAccounts(setting, crowd.accounts)];
  const [calm, one, many] = await byTurns([
    () => steadyRound(setting, calmTenth),
    () => disturbedRound(setting, oneTenth, 1),
    () => disturbedRound(setting, crowdTenth, crowd.endpoints),
  ]);
  const what = `${eventsPerSecond} events/s, event to first try`;
  const taken = median(calm.map(({ takenMs }) => percentile(takenMs, 0.5)));
  return [
    told(`${what}: p50`, delayOf(calm, 0.5), 'ms'),
    told('of which until webhooks takes the event: p50', taken, 'ms'),
    atMost(`${what}: p99`, delayOf(calm, 0.99), 100, 'ms'),
    ...disturbedFigures('to an endpoint that hangs', one, calm),
    ...disturbedFigures(`to ${crowd.accounts * crowd.endpoints} endpoints that hang`, many, calm),
    arrivedFigure('events for endpoints that respond that arrived', [...calm, ...one, ...many]),
  ];
}

/** Creates accounts without an endpoint. */
async function bareAccounts({ platform, receiver }: Setting, count: number): Promise<Customer[]> {
  const made = await customersOf(platform, receiver, count);
  for (const { client, endpoint } of made) await client.webhooks.delete({ params: { endpoint_id: endpoint } });
  return made;
}

/** Measures a round in which a tenth of the events is for hanging endpoints. They are new: the service knows nothing about them yet. */
async function disturbedRound(setting: Setting, tenth: Customer[], hanging: number): Promise<SteadyRound> {
  const body = { url: `${setting.receiver.url}/hang`, events: ['contact.*' as const] };
  const made = await Promise.all(
    tenth.map(async ({ client }) => {
      const ids: string[] = [];
      while (ids.length < hanging) ids.push((await client.webhooks.create({ body })).id);
      return { client, ids };
    }),
  );
  const round = await steadyRound(setting, tenth);
  if (round.hung === 0) throw new Error('the hanging endpoints got no try, so nothing was disturbed');
  for (const { client, ids } of made) {
    for (const endpoint_id of ids) await client.webhooks.delete({ params: { endpoint_id } });
  }
  return round;
}

/** Delays of all events except that tenth, the number of hanging tries, and the time until webhooks has consumed each event. */
interface SteadyRound extends Round {
  hung: number;
  takenMs: number[];
}

async function steadyRound({ platform, receiver, sql, customers }: Setting, tenth: Customer[]): Promise<SteadyRound> {
  const measured = customers.slice(0, -1);
  await receiver.arrivals();
  const began = new Date();
  let made = 0;
  const next = () => {
    const [turn, place] = [Math.floor(made / accounts), made++ % accounts];
    return (measured[place] ?? tenth[turn % tenth.length]!).request;
  };
  const load = { url: platform.gatewayUrl, connections: 32, next, expected: 201 };
  const { responses } = await openLoop(load, eventsPerSecond, roundMs);
  const rows = await waitFor('all events to be taken', async () => {
    const found = await sql<{ id: string; account_id: string; at: string; taken_at: Date }[]>`
      select id, account_id, envelope::json->>'timestamp' as at, taken_at from webhooks.events where taken_at >= ${began}`;
    return found.length >= responses ? found : undefined;
  });
  const isMeasured = new Set(measured.map(({ id }) => id));
  const ofMeasured = rows.filter(({ account_id }) => isMeasured.has(account_id));
  const round = await delaysAt(receiver, new Map(ofMeasured.map(({ id, at }) => [id, Date.parse(at)])));
  return { ...round, takenMs: rows.map(({ at, taken_at }) => taken_at.getTime() - Date.parse(at)) };
}

/**
 * Measures the backlog after a service was unavailable: meanwhile events were written to the outbox of customer data and published by
 * its relay. Counts from when it resumes until the last delivery is recorded as delivered, including consuming the events.
 */
async function drain({ platform, receiver, sql, customers }: Setting): Promise<Figure[]> {
  const pid = platform.pidOf('webhooks')!;
  const rates: number[] = [];
  const micros: number[] = [];
  for (let round = 0; round < drains; round++) {
    await untilIdle([pid], 20_000);
    await sql`truncate webhooks.events, webhooks.deliveries, webhooks.tries, webhooks.queues`;
    process.kill(pid, 'SIGSTOP');
    try {
      await publish(sql, customers);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const used = watchCpu(platform, ['webhooks']);
    const began = performance.now();
    await waitFor('the backlog to be delivered', async () => (await delivered(sql)) >= backlog, 40_000);
    rates.push((backlog / (performance.now() - began)) * 1_000);
    micros.push(...used(backlog));
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from webhooks.tries`;
    if (row!.count < backlog) throw new Error(`${backlog} deliveries left only ${row!.count} tries`);
    await receiver.arrivals();
  }
  return [
    atLeast(`deliveries a second from a backlog of ${backlog} to ${accounts} endpoints`, median(rates), 2_500, '/s'),
    told('CPU of a delivery: webhooks', median(micros), 'µs'),
  ];
}

async function delivered(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from webhooks.deliveries where status = 'delivered' and tries_made > 0`;
  return row!.count;
}

/** Writes a backlog of events like customer data's transactions, and waits until its relay has published them. */
async function publish(sql: postgres.Sql, customers: Customer[]): Promise<void> {
  const note = 'x'.repeat(700);
  const ids = customers.map(({ id }) => id);
  await sql`
    insert into cdp.outbox (account_id, id, kind, audience, envelope)
    select e.account, e.id, 'contact.created', 'public', json_build_object('id', e.id, 'type', 'contact.created',
      'timestamp', now(), 'account', e.account, 'mode', 'live',
      'data', json_build_object('contact', json_build_object('id', e.id, 'name', 'Ada', 'fields', json_build_object('note', ${note}::text))))::text
    from (
      select uuidv7() as id, (${ids}::uuid[])[1 + n % ${ids.length}] as account from generate_series(0, ${backlog - 1}::int) as n
    ) as e`;
  await waitFor('the relay', async () => (await sql`select 1 from cdp.outbox limit 1`).length === 0, 120_000);
}
