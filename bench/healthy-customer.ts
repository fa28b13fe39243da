import { randomUUID } from 'node:crypto';
import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import type { Child } from './child-process.ts';
import { type LoadResponse, openLoop, requestBytes } from './load.ts';
import { inboundRequest, type MessageProvider } from './message-provider.ts';
import { watchProcessors } from './process-usage.ts';

const phone = '+4930901820';
export const requestsPerSecond = 20;
/** Of Catalogue alone, whose connections fall silent: they are measured apart. */
const catalogueRequestsPerSecond = 2;
/** One that responds slowly keeps none of the others waiting for a connection. */
const connections = 32;
/** At a catalogue that responds to nothing for 10 s, none of them waits for a connection. */
const catalogueConnections = 30;

/** After that, what begins at one moment has begun. */
const settledAfterMs = 5_000;

/** A customer who uses several modules modestly and whose endpoint responds at once. */
export interface HealthyCustomer {
  id: string;
  /** Makes the next request of a second's mix; `hasEvent` says that a 2xx leads to one event for its endpoint. */
  next(): { request: Buffer; hasEvent: boolean };
  nextOfCatalogue(): Buffer;
}

/** Result of a round; times in ms. */
export interface Round {
  latenciesMs: number[];
  /** Those of responses that came after the first five seconds. */
  settledMs: number[];
  statuses: Record<number, number>;
  /** The beginnings of bodies that came with something other than 2xx. */
  refusals: string[];
  /** From an event's timestamp to its arrival at the endpoint. */
  delaysMs: number[];
  /** The part of the processors' time that was used while requests were sent, by whomever: near 1, the figures are the machine's. */
  busy: number;
  /** Webhooks that are to come. */
  expected: number;
  /** Each response of Catalogue in their order: its status, when it came in ms since the round began, and how long it took. */
  catalogue: { status: number; at: number; ms: number }[];
}

/** Makes the customer, with one of everything that the requests name. */
export async function healthyCustomer(
  platform: ProcessPlatform,
  provider: MessageProvider,
  receiver: Child,
): Promise<HealthyCustomer> {
  const { id, key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const contact = await client.createContact({ body: { name: 'Ada', phone } });
  const settings = { url: `${provider.url}/sms` };
  const channel = await client.putChannel({ params: { channel: 'sms' }, body: { provider: 'http', settings } });
  const hook = { hookUrl: channel.hook_url, secret: String(channel.settings.secret) };
  const channels = [{ channel: 'sms' as const, body: 'Your parcel is on its way.' }];
  const message = await client.sendMessage({ body: { to: phone, channels } });
  const events = ['contact.*', 'deal.*', 'message.*'] as const;
  await client.createEndpoint({ body: { url: receiver.url, events: [...events] } });

  const authorization = `Bearer ${key}`;
  const get = (path: string) => () => requestBytes(platform.gatewayUrl, `GET ${path}`, { authorization });
  const post = (path: string, body: object) => () =>
    requestBytes(platform.gatewayUrl, `POST ${path}`, { authorization }, JSON.stringify(body));
  const mix = [
    ...Array(3).fill({ make: get('/v1/cdp/contacts') }),
    ...Array(3).fill({ make: get(`/v1/cdp/contacts/${contact.id}`) }),
    ...Array(3).fill({ make: post('/v1/cdp/contacts', { name: 'Grace' }), hasEvent: true }),
    ...Array(2).fill({ make: get('/v1/crm/deals') }),
    ...Array(3).fill({ make: post('/v1/crm/deals', { title: 'Tea', contact: contact.id }), hasEvent: true }),
    { make: get('/v1/messages') },
    { make: get(`/v1/messages/${message.id}`) },
    ...Array(2).fill({ make: post('/v1/messages', { to: phone, channels }), hasEvent: true }),
    { make: () => inboundRequest(platform.gatewayUrl, hook, phone), hasEvent: true },
    { make: () => uploadRequest(platform.gatewayUrl, authorization) },
  ] as { make(): Buffer; hasEvent?: true }[];
  if (mix.length !== requestsPerSecond) throw new Error(`a second's mix has ${mix.length} requests`);
  const ofCatalogue = [
    get('/v1/catalogue/products'),
    post('/v1/catalogue/orders', {
      contact: contact.id,
      items: [{ sku: 'tea', name: 'Tea', quantity: 1, unit_price_minor: 450 }],
    }),
  ];
  let made = 0;
  let madeOfCatalogue = 0;
  return {
    id,
    next: () => {
      // Seven has no factor in common with the mix: its kinds alternate instead of coming in a row.
      const { make, hasEvent = false } = mix[(made++ * 7) % mix.length]!;
      return { request: make(), hasEvent };
    },
    nextOfCatalogue: () => ofCatalogue[madeOfCatalogue++ % ofCatalogue.length]!(),
  };
}

/** A small text file, never the same twice. */
function uploadRequest(gatewayUrl: string, authorization: string): Buffer {
  const boundary = 'healthy';
  const name = randomUUID();
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}.txt"\r\n`;
  const body = `${head}Content-Type: text/plain\r\n\r\nWe deliver from Monday to Saturday. ${name}\r\n--${boundary}--\r\n`;
  const headers = {
    authorization,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(body.length),
  };
  return Buffer.concat([requestBytes(gatewayUrl, 'POST /v1/agents/knowledge/files', headers), Buffer.from(body)]);
}

/** Sends at a steady rate for `forMs`, then waits at most 20 s for the webhooks of what was made; those that do not come are missing. */
export async function steadyRound(
  bench: { platform: ProcessPlatform; sql: postgres.Sql; receiver: Child },
  customer: HealthyCustomer,
  forMs: number,
): Promise<Round> {
  const { gatewayUrl } = bench.platform;
  await arrivalsAt(bench.receiver);
  const beganAt = new Date();
  const began = performance.now();
  const withEvent = new WeakSet<Buffer>();
  const round: Round = {
    busy: 0,
    latenciesMs: [],
    settledMs: [],
    statuses: {},
    refusals: [],
    delaysMs: [],
    expected: 0,
    catalogue: [],
  };
  const next = () => {
    const { request, hasEvent } = customer.next();
    if (hasEvent) withEvent.add(request);
    return request;
  };
  const onResponse = ({ status, body, ms }: LoadResponse, request: Buffer) => {
    if (performance.now() - began > settledAfterMs) round.settledMs.push(ms);
    const isMade = status >= 200 && status < 300;
    if (!isMade) round.refusals.push(`${firstLine(request)}: ${status} ${body.toString('utf8', 0, 200)}`);
    else if (withEvent.has(request)) round.expected++;
  };
  const ofCatalogue = { next: customer.nextOfCatalogue, connections: catalogueConnections };
  const processors = watchProcessors();
  const [result] = await Promise.all([
    openLoop({ url: gatewayUrl, connections, next, onResponse }, requestsPerSecond, forMs),
    openLoop(
      {
        url: gatewayUrl,
        ...ofCatalogue,
        onResponse: ({ status, ms }) => round.catalogue.push({ status, at: performance.now() - began, ms }),
      },
      catalogueRequestsPerSecond,
      forMs,
    ),
  ]);
  round.busy = processors.stop();
  round.latenciesMs = result.latenciesMs;
  round.statuses = result.statuses;
  round.delaysMs = await webhookDelays(bench, customer, beganAt, round.expected);
  return round;
}

function firstLine(request: Buffer): string {
  return request.toString('latin1', 0, request.indexOf('\r\n')).replace(' HTTP/1.1', '');
}

/** Waits until all events of the customer since `beganAt` have come to its endpoint, and returns how long each took, once. */
async function webhookDelays(
  { sql, receiver }: { sql: postgres.Sql; receiver: Child },
  { id }: HealthyCustomer,
  beganAt: Date,
  expected: number,
): Promise<number[]> {
  const arrivedAt = new Map<string, number>();
  const delaysMs = async () => {
    for (const { id, at } of await arrivalsAt(receiver)) if (!arrivedAt.has(id)) arrivedAt.set(id, at);
    const rows = await sql<{ id: string; at: string }[]>`
      select id, envelope::json->>'timestamp' as at from webhooks.events
      where account_id = ${id} and taken_at >= ${beganAt} and type ~ '^(contact|deal|message)[.]'`;
    return rows.flatMap(({ id, at }) => (arrivedAt.has(id) ? [arrivedAt.get(id)! - Date.parse(at)] : []));
  };
  const all = async () => ((await delaysMs()).length >= expected ? true : undefined);
  await waitFor('all webhooks', all, 20_000).catch(() => undefined); // what is missing is counted
  return await delaysMs();
}

async function arrivalsAt({ url }: Child): Promise<{ id: string; at: number }[]> {
  return (await (await fetch(`${url}/report`)).json()) as { id: string; at: number }[];
}
