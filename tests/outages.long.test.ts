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
import postgres from 'postgres';
import { type OwnProvider, startOwnProvider } from './own-provider.ts';
import { whileHanging } from './processes.ts';
import { retryingClient } from './setup.ts';

let platform: ProcessPlatform;
let receiver: Receiver;
let provider: OwnProvider;
let client: Client;
let key: string;

beforeAll(async () => {
  platform = await startProcessPlatform();
  receiver = await startReceiver();
  provider = await startOwnProvider();
  ({ key } = await platform.account());
  client = retryingClient(platform.gatewayUrl, key);
  await client.webhooks.create({ body: { url: receiver.url, events: ['contact.*'] } });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
  await provider?.stop();
}, 60_000);

let count = 0;
const createContact = async () => {
  const name = `contact ${count++}`;
  const response = await rawRequest(platform.gatewayUrl, 'POST', '/v1/cdp/contacts', { key, body: { name } });
  return {
    name,
    status: response.status,
    code: response.body?.error?.code as string | undefined,
    retryAfter: response.headers.get('retry-after'),
  };
};
const told = (name: string) => receiver.received.some(({ body }) => JSON.parse(body).data.contact.name === name);

it('fails no request while Redis is unavailable, and uses Redis again when it is back', async () => {
  await platform.stopServer('redis');
  const created = [];
  for (let index = 0; index < 50; index++) created.push(await createContact());
  expect(created.map(({ status }) => status)).toEqual(Array(50).fill(201));
  await platform.startServer('redis');
  expect((await createContact()).status).toBe(201);
});

it('accepts writes while NATS is unavailable; their events arrive when NATS is back', async () => {
  await platform.stopServer('nats');
  const written: Awaited<ReturnType<typeof createContact>>[] = [];
  for (let index = 0; index < 20; index++) written.push(await createContact());
  expect(written.map(({ status }) => status)).toEqual(Array(20).fill(201));
  expect(written.some(({ name }) => told(name))).toBe(false);
  await platform.startServer('nats');
  await waitFor('the events', () => written.every(({ name }) => told(name)), 30_000);
});

const withStatus = async (message_id: string, status: string) =>
  await waitFor(`a message that is ${status}`, async () => {
    const message = await client.messages.get({ params: { message_id } });
    return message.status === status && message;
  });

it('shows a complete message within a second while webhooks hangs, and says that webhooks is unavailable', async () => {
  await client.messages.channels.put({ params: { channel: 'sms' }, body: provider.settings });
  const channels = [{ channel: 'sms' as const, body: 'Hello' }];
  const { id } = await client.messages.send({ body: { to: '+4930901820', channels } });
  const whole = await withStatus(id, 'sent');
  expect(whole.webhooks_unavailable).toBe(false);
  await whileHanging(platform, 'webhooks', async () => {
    let tookMs = Number.POSITIVE_INFINITY;
    // A slow machine may take longer, so the request is repeated at most ten times.
    for (let asked = 0; tookMs >= 1_000 && asked < 10; asked++) {
      const startedAtMs = performance.now();
      const shown = await client.messages.get({ params: { message_id: id } });
      tookMs = performance.now() - startedAtMs;
      expect(shown).toEqual({ ...whole, webhooks: [], webhooks_unavailable: true });
    }
    expect(tookMs).toBeLessThan(1_000);
  });
  await waitFor('webhooks to be available', async () => {
    return (await client.messages.get({ params: { message_id: id } })).webhooks_unavailable === false;
  });
});

/** Returns whether a message is postponed, which no response shows. */
async function isPostponed(message: string): Promise<boolean> {
  const sql = postgres(platform.databaseUrl, { max: 1 });
  try {
    const rows = await sql`
      select 1 from messaging.attempts where message_id = ${message} and started_at is not null and due_at > now()`;
    return rows.length === 1;
  } finally {
    await sql.end();
  }
}

it('sends service messages while customer data hangs; marketing messages wait for the consent', async () => {
  const contact = await client.cdp.contacts.create({ body: { name: 'Carla', phone: '+4930901821' } });
  const consent = { channel: 'sms' as const, purpose: 'marketing' as const, state: 'granted' as const };
  await client.cdp.contacts.consents.record({ params: { contact_id: contact.id }, body: consent });
  const send = async (purpose: 'service' | 'marketing', body: string) => {
    const channels = [{ channel: 'sms' as const, body }];
    return (await client.messages.send({ body: { contact: contact.id, purpose, channels } })).id;
  };
  await withStatus(await send('service', 'Known'), 'sent');
  const got = () => provider.sent().flatMap(({ to, body }) => (to === contact.phone ? [body] : []));
  let offer = '';
  await whileHanging(platform, 'cdp', async () => {
    offer = await send('marketing', 'An offer');
    await waitFor('it to be postponed', () => isPostponed(offer));
    const notice = await send('service', 'A notice');
    expect(await withStatus(notice, 'sent')).toMatchObject({ to: contact.phone, contact: { name: 'Carla' } });
    expect([got(), (await withStatus(offer, 'sending')).attempts]).toMatchObject([
      ['Known', 'A notice'],
      [{ status: 'sending', reason: null }],
    ]);
  });
  expect((await withStatus(offer, 'sent')).attempts).toMatchObject([{ number: 1, status: 'sent', reason: null }]);
  expect(got()).toEqual(['Known', 'A notice', 'An offer']);
});

it('responds 503 with Retry-After while PostgreSQL is unavailable, and recovers without a restart', async () => {
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
    const response = await createContact();
    return response.status === 201 ? response : undefined;
  });
  await waitFor('its event', () => told(back.name));
  expect(platform.processNames.map((name) => platform.pidOf(name))).toEqual(pids);
});
