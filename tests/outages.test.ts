import type { Client } from '@customer-platform/client';
import {
  type ProcessPlatform,
  type Receiver,
  rawRequest,
  startProcessPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { patientClient } from './setup.ts';

let platform: ProcessPlatform;
let receiver: Receiver;
let client: Client;
let key: string;

beforeAll(async () => {
  platform = await startProcessPlatform();
  receiver = await startReceiver();
  ({ key } = await platform.account());
  client = patientClient(platform.gatewayUrl, key);
  await client.createEndpoint({ body: { url: receiver.url, events: ['contact.*'] } });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
}, 60_000);

let count = 0;
const createContact = async () => {
  const name = `contact ${count++}`;
  const answer = await rawRequest(platform.gatewayUrl, 'POST', '/v1/cdp/contacts', { key, body: { name } });
  return {
    name,
    status: answer.status,
    code: answer.body?.error?.code as string | undefined,
    retryAfter: answer.headers.get('retry-after'),
  };
};
const told = (name: string) => receiver.received.some(({ body }) => JSON.parse(body).data.contact.name === name);

it('fails no request while Redis is away, and uses it again when it is back', async () => {
  await platform.stopServer('redis');
  const away = [];
  for (let index = 0; index < 50; index++) away.push(await createContact());
  expect(away.map(({ status }) => status)).toEqual(Array(50).fill(201));
  await platform.startServer('redis');
  expect((await createContact()).status).toBe(201);
});

it('takes writes while NATS is away; their events arrive when it is back', async () => {
  await platform.stopServer('nats');
  const written: Awaited<ReturnType<typeof createContact>>[] = [];
  for (let index = 0; index < 20; index++) written.push(await createContact());
  expect(written.map(({ status }) => status)).toEqual(Array(20).fill(201));
  expect(written.some(({ name }) => told(name))).toBe(false);
  await platform.startServer('nats');
  await waitFor('the events', () => written.every(({ name }) => told(name)), 30_000);
});

it('answers 503 with Retry-After while PostgreSQL is away, and recovers without a restart of its own', async () => {
  const pids = platform.processNames.map((name) => platform.pidOf(name));
  await platform.stopServer('postgres');
  for (let index = 0; index < 5; index++) {
    const { status, code, retryAfter } = await createContact();
    expect({ status, code }).toEqual({ status: 503, code: 'service_unavailable' });
    expect(Number(retryAfter)).toBeGreaterThan(0);
  }
  const unknown = await rawRequest(platform.gatewayUrl, 'GET', '/v1/me', { key: `cp_live_${'0'.repeat(40)}` });
  expect([401, 503]).toContain(unknown.status);
  await platform.startServer('postgres');
  const back = await waitFor('writes to work again', async () => {
    const answer = await createContact();
    return answer.status === 201 ? answer : undefined;
  });
  await waitFor('its event', () => told(back.name));
  expect(platform.processNames.map((name) => platform.pidOf(name))).toEqual(pids);
});
