import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type Child, startChild } from './child-process.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, median, percentile, told } from './figures.ts';
import { endpointsOfAccount } from './hanging-endpoints.ts';
import { openLoop, requestBytes } from './load.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds, untilIdle } from './process-usage.ts';

const accounts = 10;
const rounds = 3;
const backlog = 20_000;
const eventsPerSecond = 300;
const roundMs = 5_000;
/** Accounts that a tenth of all events is of, and endpoints of each, as many as one may have. */
const crowd = { accounts: 6, endpoints: endpointsOfAccount };

/** Account with one endpoint, and the request that creates a contact, whose event is delivered. */
export interface Customer {
  id: string;
  key: string;
  client: ReturnType<typeof createClient>;
  request: Buffer;
  endpoint: string;
}

interface Setting {
  platform: ProcessPlatform;
  receiver: Child;
  sql: postgres.Sql;
  customers: Customer[];
}

export const webhooksBench: Bench = {
  name: 'webhooks',
  summary: 'deliveries of 1 KB, each with a durable try; service and receiver on the same machine',
  async measure() {
    const receiver = await startChild('receiver.ts');
    let platform: ProcessPlatform | undefined;
    let sql: postgres.Sql | undefined;
    try {
      platform = await startPlatform();
      sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
      const customers = await Promise.all(Array.from({ length: accounts }, () => customer(platform!, receiver)));
      const setting = { platform, receiver, sql, customers };
      return [...(await latency(setting)), ...(await drain(setting))];
    } finally {
      await sql?.end();
      await platform?.stop();
      await receiver.stop();
    }
  },
};

/** Creates an account with an endpoint at the receiver. */
export async function customer(platform: ProcessPlatform, receiver: Child): Promise<Customer> {
  const { id, key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const { id: endpoint } = await client.createEndpoint({ body: { url: receiver.url, events: ['contact.*'] } });
  // With these fields the envelope is about a kilobyte.
  const body = JSON.stringify({ name: 'Ada Lovelace', phone: '+4930901820', fields: { note: 'x'.repeat(600) } });
  const request = requestBytes(platform.gatewayUrl, 'POST /v1/cdp/contacts', { authorization: `Bearer ${key}` }, body);
  return { id, key, client, request, endpoint };
}

/** A round: whose a tenth of all events is, how many endpoints that hang each of them has meanwhile, and what was measured. */
interface Disturbance {
  tenth: Customer[];
  hanging: number;
  p50: number[];
  p99: number[];
}

/**
 * Measures events of contacts created through the gateway at a steady rate, from the event's timestamp, which is taken before the
 * commit, to the arrival of its first attempt; by turns undisturbed, with every tenth event for an endpoint that hangs, and for 120.
 */
async function latency(setting: Setting): Promise<Figure[]> {
  const { customers } = setting;
  const calm: Disturbance = { tenth: customers.slice(-1), hanging: 0, p50: [], p99: [] };
  const one: Disturbance = { tenth: await hangingAccounts(setting, 1), hanging: 1, p50: [], p99: [] };
  const tenth = await hangingAccounts(setting, crowd.accounts);
  const many: Disturbance = { tenth, hanging: crowd.endpoints, p50: [], p99: [] };
  const taken: number[] = [];
  let sent = 0;
  let arrived = 0;
  for (let round = 0; round <= rounds; round++) {
    for (const into of [calm, one, many]) {
      const result = await disturbedRound(setting, into);
      if (round === 0) break; // warms up
      into.p50.push(percentile(result.delaysMs, 0.5));
      into.p99.push(percentile(result.delaysMs, 0.99));
      if (into === calm) taken.push(percentile(result.takenMs, 0.5));
      sent += result.sent;
      arrived += result.delaysMs.length;
    }
  }
  const what = `${eventsPerSecond} events/s, event to first try`;
  const compared = (where: string, { p50, p99 }: Disturbance) => [
    told(`with 10 % of it to ${where}, the others: p50`, median(p50), 'ms'),
    atMost(`with 10 % of it to ${where}, the others: p99 ÷ undisturbed`, median(p99) / median(calm.p99), 2),
    told(`with 10 % of it to ${where}, the others: p99`, median(p99), 'ms'),
  ];
  return [
    told(`${what}: p50`, median(calm.p50), 'ms'),
    told('of which until webhooks takes the event: p50', median(taken), 'ms'),
    atMost(`${what}: p99`, median(calm.p99), 100, 'ms'),
    ...compared('an endpoint that hangs', one),
    ...compared(`${crowd.accounts * crowd.endpoints} endpoints that hang`, many),
    exactly('events for endpoints that respond that arrived', `${arrived} of ${sent}`, `${sent} of ${sent}`),
  ];
}

/** Creates accounts without an endpoint. */
async function hangingAccounts({ platform, receiver }: Setting, count: number): Promise<Customer[]> {
  const made = await Promise.all(Array.from({ length: count }, () => customer(platform, receiver)));
  for (const { client, endpoint } of made) await client.deleteEndpoint({ params: { endpoint_id: endpoint } });
  return made;
}

/** Measures a round while the tenth of its events is for endpoints that hang: new ones, of which nothing is known. */
async function disturbedRound(setting: Setting, { tenth, hanging }: Disturbance) {
  const body = { url: `${setting.receiver.url}/hang`, events: ['contact.*'] };
  const create = async ({ client }: Customer) => {
    const ids: string[] = [];
    while (ids.length < hanging) ids.push((await client.createEndpoint({ body })).id);
    return ids;
  };
  const endpoints = await Promise.all(tenth.map(create));
  const result = await steadyRound(setting, tenth);
  if (hanging > 0 && result.hung === 0)
    throw new Error('endpoints that were to hang got no try: nothing was disturbed');
  for (const [index, ids] of endpoints.entries()) {
    for (const id of ids) await tenth[index]!.client.deleteEndpoint({ params: { endpoint_id: id } });
  }
  return result;
}

/** Returns the delays of all events but the tenth, and how many tries of that hang. */
async function steadyRound({ platform, receiver, sql, customers }: Setting, tenth: Customer[]) {
  const measured = customers.slice(0, -1);
  await arrivalsAt(receiver);
  const began = new Date();
  let made = 0;
  const next = () => {
    const [turn, place] = [Math.floor(made / accounts), made++ % accounts];
    return (measured[place] ?? tenth[turn % tenth.length]!).request;
  };
  const result = await openLoop({ url: platform.gatewayUrl, connections: 32, next }, eventsPerSecond, roundMs);
  if (result.statuses[201] !== result.responses)
    throw new Error(`not all contacts were made: ${JSON.stringify(result.statuses)}`);
  const rows = await waitFor('all events to be taken', async () => {
    const found = await sql<{ id: string; account_id: string; at: string; taken_at: Date }[]>`
      select id, account_id, envelope::json->>'timestamp' as at, taken_at from webhooks.events where taken_at >= ${began}`;
    return found.length >= result.responses ? found : undefined;
  });
  const isMeasured = new Set(measured.map(({ id }) => id));
  const madeAt = new Map(
    rows.filter((row) => isMeasured.has(row.account_id)).map(({ id, at }) => [id, Date.parse(at)]),
  );
  const takenMs = rows.map(({ at, taken_at }) => taken_at.getTime() - Date.parse(at));
  const delaysMs: number[] = [];
  let hung = 0;
  await waitFor(
    'all first tries',
    async () => {
      for (const { id, at, path } of await arrivalsAt(receiver)) {
        if (path.startsWith('/hang')) hung++;
        const since = madeAt.get(id);
        if (since !== undefined) delaysMs.push(at - since);
        madeAt.delete(id); // counts once
      }
      return madeAt.size === 0;
    },
    20_000,
  ).catch(() => undefined); // missing ones are counted
  return { delaysMs, takenMs, hung, sent: delaysMs.length + madeAt.size };
}

/** Returns the time at which a UUID of version 7 was made, in epoch milliseconds. */
export const createdMs = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

/** Returns the requests that the receiver has got since the last time. */
export async function arrivalsAt(receiver: Child): Promise<{ path: string; id: string; at: number }[]> {
  const response = await fetch(`${receiver.url}/report`);
  return (await response.json()) as { path: string; id: string; at: number }[];
}

/**
 * Measures the backlog after a service was unavailable: meanwhile events were written to the outbox of customer data and published by
 * its relay. Counts from when it resumes until the last delivery is recorded as delivered, including consuming the events.
 */
async function drain({ platform, receiver, sql, customers }: Setting): Promise<Figure[]> {
  const pid = platform.pidOf('webhooks')!;
  const rates: number[] = [];
  const micros: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await untilIdle([pid], 20_000);
    await sql`truncate webhooks.events, webhooks.deliveries, webhooks.tries, webhooks.queues`;
    process.kill(pid, 'SIGSTOP');
    try {
      await publish(sql, customers, backlog);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const before = cpuSeconds(pid);
    const began = performance.now();
    await waitFor('the backlog to be delivered', async () => (await delivered(sql)) >= backlog, 40_000);
    rates.push((backlog / (performance.now() - began)) * 1_000);
    micros.push(((cpuSeconds(pid) - before) / backlog) * 1e6);
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from webhooks.tries`;
    if (row!.count < backlog) throw new Error(`${backlog} deliveries left only ${row!.count} tries`);
    await arrivalsAt(receiver);
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

/** Writes events like customer data's transactions, and waits until its relay has published them. */
export async function publish(sql: postgres.Sql, customers: Customer[], count: number): Promise<void> {
  const note = 'x'.repeat(700);
  const ids = customers.map(({ id }) => id);
  await sql`
    insert into cdp.outbox (account_id, id, kind, audience, envelope)
    select e.account, e.id, 'contact.created', 'public', json_build_object('id', e.id, 'type', 'contact.created',
      'timestamp', now(), 'account', e.account, 'mode', 'live',
      'data', json_build_object('contact', json_build_object('id', e.id, 'name', 'Ada', 'fields', json_build_object('note', ${note}::text))))::text
    from (
      select uuidv7() as id, (${ids}::uuid[])[1 + n % ${ids.length}] as account from generate_series(0, ${count - 1}::int) as n
    ) as e`;
  await waitFor('the relay', async () => (await sql`select 1 from cdp.outbox limit 1`).length === 0, 120_000);
}
