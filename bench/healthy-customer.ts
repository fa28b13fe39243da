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
/** Requests to Catalogue only, whose connections fall silent: they are measured separately. */
const catalogueRequestsPerSecond = 2;
/** Connections, enough that a slow response delays no other request. */
const connections = 32;
/** Connections, enough that no request waits for one while Catalogue does not respond for 10 s. */
const catalogueConnections = 30;

/** Milliseconds after which everything that starts at once has started. */
const settledAfterMs = 5_000;

/** Customer that uses several modules moderately and whose endpoint responds at once. */
export interface HealthyCustomer {
  id: string;
  /** Returns the next request of the mix; with `hasEvent` a 2xx leads to one event for its endpoint. */
  next(): { request: Buffer; hasEvent: boolean };
  nextOfCatalogue(): Buffer;
}

/** Result of a round; times in ms. */
export interface Round {
  latenciesMs: number[];
  /** Latencies of responses after the first five seconds. */
  settledMs: number[];
  statuses: Record<number, number>;
  /** Beginnings of the bodies of non-2xx responses. */
  refusals: string[];
  /** From an event's timestamp to its arrival at the endpoint. */
  delaysMs: number[];
  /** Share of CPU time used by all processes while requests were sent: near 1, the machine limits the figures. */
  busy: number;
  /** Number of expected webhooks. */
  expected: number;
  /** Responses of Catalogue in order: status, time since the round began, and latency, in milliseconds. */
  catalogue: { status: number; at: number; ms: number }[];
}

/** Creates the customer, with one resource of each kind that the requests need. */
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
      // Seven is coprime with the length of the mix: its kinds alternate instead of coming in a row.
      const { make, hasEvent = false } = mix[(made++ * 7) % mix.length]!;
      return { request: make(), hasEvent };
    },
    nextOfCatalogue: () => ofCatalogue[madeOfCatalogue++ % ofCatalogue.length]!(),
  };
}

/** Returns the upload of a small text file, never the same twice. */
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

/** Sends at a steady rate for `forMs`, then waits at most 20 s for the webhooks; those that do not arrive are missing. */
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

/** Waits until all events of the customer since `beganAt` have reached its endpoint, and returns the delay of each. */
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
  await waitFor('all webhooks', all, 20_000).catch(() => undefined); // missing ones are counted
  return await delaysMs();
}

async function arrivalsAt({ url }: Child): Promise<{ id: string; at: number }[]> {
  return (await (await fetch(`${url}/report`)).json()) as { id: string; at: number }[];
}
