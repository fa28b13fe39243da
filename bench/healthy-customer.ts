import { randomUUID } from 'node:crypto';
import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import type { Receiver } from './harness.ts';
import { type LoadResponse, openLoop, requestBytes } from './load.ts';
import { inboundRequest } from './messages.ts';
import { watchProcessors } from './process-usage.ts';
import { type Round as Delays, delaysAt } from './rounds.ts';

const phone = '+4930901820';
export const requestsPerSecond = 20;
/** Number of connections, high enough that a slow response does not delay other requests. */
const connections = 32;
/** Milliseconds after which the hostilities, which start at the same time, have started. */
const settledAfterMs = 5_000;

/** Customer that uses several modules moderately and whose endpoint responds immediately. */
interface HealthyCustomer {
  id: string;
  url: string;
  /** Returns the next request of the mix. If `hasEvent`, a 2xx response means one event for its endpoint. */
  next(): { request: Buffer; hasEvent: boolean };
}

/** Result of a round; times in ms, and delays from an event's timestamp to its arrival at the endpoint. */
export interface Round extends Delays {
  latenciesMs: number[];
  /** Latencies of responses after the first five seconds. */
  settledMs: number[];
  statuses: Record<number, number>;
  /** Beginnings of the bodies of non-2xx responses. */
  refusals: string[];
  /** Share of CPU time used by all processes while requests were sent. Near 1, the machine limits the figures. */
  busy: number;
}

/** Creates the customer with one resource of each kind that the requests need. */
export async function healthyCustomer(platform: ProcessPlatform, receiver: Receiver): Promise<HealthyCustomer> {
  const { gatewayUrl: url } = platform;
  const { id, key } = await platform.account();
  const client = createClient({ baseUrl: url, apiKey: key });
  const contact = await client.cdp.contacts.create({ body: { name: 'Ada', phone } });
  const settings = { url: `${receiver.url}/send/sms` };
  const channel = await client.messages.channels.put({
    params: { channel: 'sms' },
    body: { provider: 'http', settings },
  });
  const hook = { url: channel.hook_url, secret: String(channel.settings.secret) };
  const channels = [{ channel: 'sms' as const, body: 'Your parcel is on its way.' }];
  const message = await client.messages.send({ body: { to: phone, channels } });
  const events = ['contact.*', 'deal.*', 'message.*'] as const;
  await client.webhooks.create({ body: { url: receiver.url, events: [...events] } });

  const headers = { authorization: `Bearer ${key}` };
  const get = (path: string) => ({ make: () => requestBytes(url, `GET ${path}`, headers), hasEvent: false });
  const post = (path: string, body: object) => {
    const text = JSON.stringify(body);
    return { make: () => requestBytes(url, `POST ${path}`, headers, text), hasEvent: true };
  };
  const kinds = [
    { times: 3, ...get('/v1/cdp/contacts') },
    { times: 3, ...get(`/v1/cdp/contacts/${contact.id}`) },
    { times: 3, ...post('/v1/cdp/contacts', { name: 'Grace' }) },
    { times: 2, ...get('/v1/crm/deals') },
    { times: 3, ...post('/v1/crm/deals', { title: 'Tea', contact: contact.id }) },
    { times: 1, ...get('/v1/messages') },
    { times: 1, ...get(`/v1/messages/${message.id}`) },
    { times: 2, ...post('/v1/messages', { to: phone, channels }) },
    { times: 1, make: () => inboundRequest(url, hook, phone), hasEvent: true },
    { times: 1, make: () => uploadRequest(url, headers), hasEvent: false },
  ];
  const mix = kinds.flatMap(({ times, ...kind }) => Array<typeof kind>(times).fill(kind));
  let made = 0;
  const next = () => {
    // Seven is coprime with the length of the mix, 20, so that the kinds alternate.
    const { make, hasEvent } = mix[(made++ * 7) % mix.length]!;
    return { request: make(), hasEvent };
  };
  return { id, url, next };
}

/** Returns the upload of a small text file that is different each time. */
function uploadRequest(url: string, headers: Record<string, string>): Buffer {
  const boundary = 'healthy';
  const name = randomUUID();
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}.txt"\r\n`;
  const body = `${head}Content-Type: text/plain\r\n\r\nWe deliver from Monday to Saturday. ${name}\r\n--${boundary}--\r\n`;
  const ofUpload = {
    ...headers,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(body.length),
  };
  return Buffer.concat([requestBytes(url, 'POST /v1/agents/knowledge/files', ofUpload), Buffer.from(body)]);
}

/** Sends at a steady rate for `forMs`, then waits at most 20 s for the webhooks; those that do not arrive are missing. */
export async function steadyRound(
  { customer, sql, receiver }: { customer: HealthyCustomer; sql: postgres.Sql; receiver: Receiver },
  forMs: number,
): Promise<Round> {
  await receiver.arrivals();
  const beganAt = new Date();
  const began = performance.now();
  const withEvent = new WeakSet<Buffer>();
  const [settledMs, refusals]: [number[], string[]] = [[], []];
  let expected = 0;
  const next = () => {
    const { request, hasEvent } = customer.next();
    if (hasEvent) withEvent.add(request);
    return request;
  };
  const onResponse = ({ status, body, ms }: LoadResponse, request: Buffer) => {
    if (performance.now() - began > settledAfterMs) settledMs.push(ms);
    const isMade = status >= 200 && status < 300;
    if (!isMade) refusals.push(`${firstLine(request)}: ${status} ${body.toString('utf8', 0, 200)}`);
    else if (withEvent.has(request)) expected++;
  };
  const busy = watchProcessors();
  const load = { url: customer.url, connections, next, onResponse };
  const { latenciesMs, statuses } = await openLoop(load, requestsPerSecond, forMs);
  const round = { latenciesMs, settledMs, statuses, refusals, busy: busy() };
  const madeAt = await eventsSince(sql, customer, { beganAt, expected });
  return { ...round, ...(await delaysAt(receiver, madeAt)), sent: expected };
}

function firstLine(request: Buffer): string {
  return request.toString('latin1', 0, request.indexOf('\r\n')).replace(' HTTP/1.1', '');
}

/** Waits at most 20 s for the expected events of the customer; returns when each was made, in epoch milliseconds, by its id. */
async function eventsSince(
  sql: postgres.Sql,
  { id }: HealthyCustomer,
  { beganAt, expected }: { beganAt: Date; expected: number },
): Promise<Map<string, number>> {
  const events = () => sql<{ id: string; at: string }[]>`
    select id, envelope::json->>'timestamp' as at from webhooks.events
    where account_id = ${id} and taken_at >= ${beganAt} and type ~ '^(contact|deal|message)[.]'`;
  const isComplete = async () => (await events()).length >= expected;
  await waitFor('all events', isComplete, 20_000).catch(() => undefined); // missing ones are counted
  return new Map((await events()).map(({ id, at }) => [id, Date.parse(at)]));
}
