import { type Client, createClient, type Reconnect } from '@customer-platform/client';
import { gateway, isUp, services } from '@customer-platform/deploy/deployables';
import {
  type EventReader,
  type ProcessPlatform,
  rawRequest,
  readStream,
  startProcessPlatform,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { killAndSeeBack } from './processes.ts';
import { type Balancer, type SecondProcess, startBalancer, startSecond } from './second-process.ts';
import { retryingClient } from './setup.ts';

const webhooks = services.find(({ name }) => name === 'webhooks')!;
/** A drain longer than the tests, so that a stream that does not end would make a test fail. */
const env = { DRAIN_SECONDS: '300' };

/** Two gateways and two processes of webhooks, each pair behind a balancer. The platform restarts its own process, but not the second one. */
let platform: ProcessPlatform;
let second: Record<'gateway' | 'webhooks', SecondProcess>;
const balancers: Balancer[] = [];
const readers: EventReader[] = [];

beforeAll(async () => {
  const [toGateways, toWebhooks] = [await startBalancer(), await startBalancer()];
  balancers.push(toGateways, toWebhooks);
  const WEBHOOKS_URL = toWebhooks.url;
  platform = await startProcessPlatform((name) => (name === 'gateway' ? { ...env, WEBHOOKS_URL } : env));
  const { deployment } = platform;
  second = {
    gateway: await startSecond(gateway, deployment, { ...env, WEBHOOKS_URL }),
    webhooks: await startSecond(webhooks, deployment, env),
  };
  toGateways.ports = [deployment.gatewayPort, second.gateway.port];
  toWebhooks.ports = [deployment.ports.webhooks!, second.webhooks.port];
}, 180_000);
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});
afterAll(async () => {
  await Promise.all(Object.values(second ?? {}).map((each) => each.stop()));
  await platform?.stop();
  await Promise.all(balancers.map((balancer) => balancer.stop()));
}, 90_000);

const publicUrl = () => balancers[0]!.url;
const firstUrl = () => platform.gatewayUrl;
const secondUrl = () => `http://127.0.0.1:${second.gateway.port}`;
const admin = (method: string, path: string, body?: unknown) =>
  rawRequest(platform.adminUrl, method, path, { key: platform.adminToken, body });
const numbers = (to: number) => Array.from({ length: to }, (_, index) => index + 1);

/** Creates contacts one after another. */
async function write(client: Client, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await client.cdp.contacts.create({ body: { name: `Contact ${index}` } });
}

/** Follows an account's events from the first one, as customers do. Collects their sequences. */
function follow(key: string) {
  const sequences: number[] = [];
  const reconnects: Reconnect[] = [];
  const over = new AbortController();
  const { events } = createClient({ baseUrl: publicUrl(), apiKey: key });
  const stream = events.stream({
    afterSequence: 0,
    signal: over.signal,
    onReconnect: (each) => reconnects.push(each),
  });
  const following = (async () => {
    for await (const { sequence } of stream) sequences.push(sequence);
  })().catch(() => undefined);
  return {
    sequences,
    reconnects,
    stop: async () => {
      over.abort();
      await following;
    },
  };
}

async function open(key: string, url = publicUrl()): Promise<EventReader> {
  const reader = await readStream(`${url}/v1/events/stream`, key);
  readers.push(reader);
  return reader;
}

/** Returns a client of an account's sandbox, with its key. */
async function sandboxOf(accountId: string): Promise<Client & { key: string }> {
  const key = { name: 'test', mode: 'test', scopes: ['*'] };
  const { body } = await admin('POST', `/admin/accounts/${accountId}/keys`, key);
  return { ...retryingClient(publicUrl(), body.key), key: body.key };
}

async function seeBack(name: string): Promise<void> {
  const url = name === 'gateway' ? platform.adminUrl : `http://127.0.0.1:${platform.deployment.ports[name]}`;
  await waitFor(`${name} to be back`, () => isUp(`${url}/readyz`), 60_000);
}

/** Ends the platform's own process of a deployable as an operator does, and waits until its successor is up. */
async function endAndSeeBack(name: string): Promise<void> {
  const end = () => platform.output.find((line) => line.startsWith(`${name} exited with`));
  process.kill(platform.pidOf(name)!, 'SIGTERM');
  await waitFor(`${name} to end`, end);
  expect(end()).toContain('exited with code 0');
  await seeBack(name);
}

it('streams continue on other processes when theirs shuts down: each ends in order, and resuming clients miss and repeat no event', async () => {
  const { key } = await platform.account();
  const client = retryingClient(publicUrl(), key);
  const followers = [follow(key), follow(key)];
  const direct = await Promise.all([open(key), open(key), open(key)]);
  await write(client, 1);
  await waitFor('an event in all', () => direct.every(({ events }) => events.length > 0));
  await Promise.all([endAndSeeBack('webhooks'), write(client, 30)]);
  const [isOrderly] = await Promise.all([second.webhooks.stop(), write(client, 30)]);
  expect(isOrderly).toBe(true);
  await waitFor('the end of each', () => direct.every(({ end }) => end !== undefined));
  expect(direct.map(({ end, retryMs }) => [end, (retryMs ?? 0) > 0])).toEqual(direct.map(() => ['ended', true]));
  second.webhooks = await startSecond(webhooks, platform.deployment, env);
  balancers[1]!.ports = [platform.deployment.ports.webhooks!, second.webhooks.port];

  const [mine, others] = [await open(key, firstUrl()), await open(key, secondUrl())];
  await Promise.all([endAndSeeBack('gateway'), write(client, 30)]);
  await waitFor('the end of that of the gateway', () => mine.end);
  expect([mine.end, mine.retryMs! > 0, others.end]).toEqual(['ended', true, undefined]);
  await waitFor('all events', () => followers.every(({ sequences }) => sequences.at(-1) === 91));
  for (const { sequences, reconnects, stop } of followers) {
    await stop();
    expect([sequences, reconnects.length > 0]).toEqual([numbers(91), true]);
  }
}, 180_000);

const statusesOf = (all: readonly EventReader[]) => all.map(({ status }) => status);
const openMany = (key: string, count: number, url: string) =>
  Promise.all(Array.from({ length: count }, () => open(key, url)));

it('streams survive a Redis outage: open streams continue, a key has at most five, and revoking the key ends its streams', async () => {
  const { id, key } = await platform.account();
  const client = retryingClient(publicUrl(), key);
  const before = await openMany(key, 2, firstUrl());
  await platform.stopServer('redis');
  try {
    const [here, there] = await Promise.all([openMany(key, 5, firstUrl()), openMany(key, 5, secondUrl())]);
    const granted = [...before, ...here, ...there].filter(({ status }) => status === 200);
    expect(there.some(({ status }) => status === 200)).toBe(true);
    expect(granted.length).toBeLessThanOrEqual(5);
    const refused = [...here, ...there].filter(({ status }) => status !== 200);
    expect(new Set(statusesOf(refused))).toEqual(new Set([429]));
    expect(refused.every(({ headers }) => Number(headers['retry-after']) >= 1)).toBe(true);
    await write(client, 1);
    await waitFor('the event in all', () => granted.every(({ events }) => events.length === 1));
    const { data } = (await admin('GET', `/admin/accounts/${id}/keys`)).body;
    expect((await admin('DELETE', `/admin/keys/${data[0].id}`)).status).toBe(204);
    await waitFor('the end of all', () => granted.every(({ end }) => end === 'ended'));
  } finally {
    await platform.startServer('redis');
  }
  // Shared again: streams at one gateway count at the other.
  const fresh = (await platform.account()).key;
  await waitFor('five at the first', async () => {
    await open(fresh, firstUrl());
    return readers.filter(({ status, end }) => status === 200 && end === undefined).length === 5;
  });
  await waitFor('a 429 from the second', async () => {
    const reader = await open(fresh, secondUrl());
    reader.close();
    return reader.status === 429;
  });
}, 120_000);

/** Number of messages in the sandbox, one per day. */
const days = 30;

it('one gateway moves a clock; if it dies another continues, and nothing happens twice', async () => {
  const client = await sandboxOf((await platform.account()).id);
  const at = async (day: number) => new Date(Date.parse((await client.sandbox.clock.get()).now) + day * 86_400_000);
  const ids: string[] = [];
  for (let day = 1; day <= days; day++) {
    const channels = [{ channel: 'sms' as const, body: `Day ${day}` }];
    const send_at = (await at(day)).toISOString();
    ids.push((await client.messages.send({ body: { to: '+4930901820', channels, send_at } })).id);
  }
  const sent = async () => (await client.events.list({ query: { type: 'message.sent', limit: 100 } })).data.length;
  const body = { advance_to: (await at(days + 1)).toISOString() };
  const options = { key: client.key, body };
  const asked = [firstUrl(), secondUrl()].map((url) => rawRequest(url, 'POST', '/v1/sandbox/clock', options));
  expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([202, 409]);

  const status = async () => (await client.sandbox.clock.get()).status;
  const moveOn = async () => {
    const from = await at(2);
    await waitFor('the clock to move on', async () => (await at(0)) > from, 90_000);
  };
  // Either of the two gateways may move the clock, so each is killed once.
  await moveOn();
  balancers[0]!.ports = [second.gateway.port];
  await killAndSeeBack(platform, 'gateway');
  await seeBack('gateway');
  await moveOn();
  balancers[0]!.ports = [platform.deployment.gatewayPort];
  process.kill(second.gateway.pid, 'SIGKILL');
  expect(await status()).toBe('advancing');
  await waitFor('the clock to be there', async () => (await status()) === 'ready', 120_000);
  expect(await sent()).toBe(days);
  for (const message_id of ids) {
    const { attempts } = await client.messages.get({ params: { message_id } });
    expect(attempts).toHaveLength(1);
  }
}, 240_000);
