import { randomUUID } from 'node:crypto';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import { takeMessage } from '@customer-platform/contracts/messaging';
import { AccountDirectory, type Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  connectAs,
  type HttpProvider,
  message,
  openShop,
  type Sent,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';
import type { DueAttempt } from './claims.sql.ts';
import { type SendContext, sendAttempt } from './send-attempt.ts';
import { Suspensions } from './suspended-accounts.ts';

let platform: Platform;
let bus: Bus;
let whatsapp: HttpProvider;
let sms: HttpProvider;
let shop: Shop;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'], env: { MESSAGING_MAX_PER_CHANNEL: '1' } });
  bus = await connectAs(platform, 'catalogue');
}, 60_000);
afterAll(async () => {
  await bus.close();
  await platform.stop();
});
beforeEach(async () => {
  [whatsapp, sms] = [await startHttpProvider(), await startHttpProvider()];
  shop = await openShop(platform, { whatsapp, sms });
});
afterEach(() => Promise.all([whatsapp.stop(), sms.stop()]));

const to = '+4930901820';
const steps = [
  { channel: 'whatsapp', body: 'Hello by WhatsApp', fallback_after_seconds: 60 },
  { channel: 'sms', body: 'Hello by SMS' },
];
const send = async (more: object = {}) =>
  (await shop.account.client.messages.send({ body: { to, channels: steps, ...more } as never })).id;
const setStatus = async (status: 'suspended' | 'active') => {
  const { status: responded } = await platform.admin('PATCH', `/admin/accounts/${shop.account.id}`, { status });
  expect(responded).toBe(200);
  // Processes that know the account drop it when they receive the change.
  await platform.event(
    shop.account.id,
    'account.updated',
    ({ account }) => account.suspended === (status === 'suspended'),
  );
};
/** Waits for the event of a message's failure; returns the message in it. */
const failure = async (id: string) =>
  (await platform.event(shop.account.id, 'message.failed', (data) => data.message.id === id)).data.message;
const suspended = { status: 'failed', error: { code: 'account_suspended', message: 'The account is suspended' } };

/** Returns the ids of the named messages that providers received. Ports are reused, so older messages may arrive too. */
const gotOf = (...ids: string[]) =>
  [...whatsapp.received, ...sms.received]
    .map(({ body }) => (JSON.parse(body) as Sent).message)
    .filter((id) => ids.includes(id));

/** Reactivates the account. Only messages sent from then on go out; failed ones stay failed. */
async function expectNothingComesBack(failed: string): Promise<void> {
  const before = gotOf(failed);
  await setStatus('active');
  platform.clock.advance(3_600_000);
  const next = await waitFor('the key to be valid', () => send());
  await message(shop.account, next, withStatus('sent'));
  expect(await message(shop.account, failed, () => true)).toMatchObject(suspended);
  expect(gotOf(failed, next)).toEqual([...before, next]);
}

describe('of a suspended account', () => {
  it('a scheduled message fails when due, and is not sent later', async () => {
    const send_at = new Date(platform.clock.now().getTime() + 3_600_000).toISOString();
    const id = await send({ send_at });
    await setStatus('suspended');
    platform.clock.advance(3_600_000);
    expect(await failure(id)).toMatchObject(suspended);
    await expectNothingComesBack(id);
  });

  it('the message fails when its fallback is due, without using the next channel', async () => {
    const id = await send();
    await message(shop.account, id, withStatus('sent'));
    await setStatus('suspended');
    platform.clock.advance(60_000);
    expect(await failure(id)).toMatchObject({ ...suspended, channel: 'whatsapp', attempts: [{ status: 'sent' }] });
    await expectNothingComesBack(id);
  });

  it('a message that waits for a retry fails', async () => {
    whatsapp.respond = (_, response) => void response.writeHead(503, { 'retry-after': '13' }).end('{}');
    const id = await send();
    await waitFor('the first call', () => whatsapp.received.length > 0);
    await setStatus('suspended');
    const attempts = [{ status: 'failed', reason: 'account_suspended' }];
    expect(await failure(id)).toMatchObject({ ...suspended, attempts });
    whatsapp.respond = (_, response) => void response.writeHead(200).end('{"id":"p"}');
    await expectNothingComesBack(id);
  });

  it('waiting messages fail while a call is in progress, and that call ends normally', async () => {
    const held: (() => void)[] = [];
    whatsapp.respond = (_, response) => void held.push(() => response.writeHead(200).end('{"id":"p"}'));
    const running = await send();
    await waitFor('the call', () => held.length === 1);
    const waiting = await send();
    await setStatus('suspended');
    expect(await failure(waiting)).toMatchObject({ ...suspended, attempts: [] });
    held[0]!();
    const { data } = await platform.event(shop.account.id, 'message.sent', (sent) => sent.message.id === running);
    expect(data.message.status).toBe('sent');
    expect([whatsapp.received.length, sms.received.length]).toEqual([1, 0]);
  });

  it('a message from another service fails', async () => {
    const { id: contact } = await shop.account.client.cdp.contacts.create({ body: { name: 'Carla', phone: to } });
    await setStatus('suspended');
    const given = { contact, channel: 'sms' as const, body: 'Sold out', reference: 'order-1', key: randomUUID() };
    const taken = await waitFor('a reply', () => bus.ask(takeMessage, shop.account.id, given));
    expect(await failure(taken.message!)).toMatchObject(suspended);
    expect(sms.received).toEqual([]);
  });

  it('sandbox messages fail too', async () => {
    const { testClient, sandboxId } = shop.account;
    const send_at = new Date(platform.clock.now().getTime() + 60_000).toISOString();
    const { id } = await testClient.messages.send({
      body: { to, channels: [{ channel: 'sms', body: 'Hello' }], send_at },
    });
    await setStatus('suspended');
    platform.clock.advance(60_000);
    const { data } = await platform.event(sandboxId, 'message.failed', (failed) => failed.message.id === id);
    expect(data.message).toMatchObject(suspended);
  });
});

it('a message claimed before its account was suspended is not sent, nor one while the standing is unknown', async () => {
  const ids = { account_id: randomUUID(), message_id: randomUUID(), attempt_id: randomUUID(), contact_id: null };
  const simulated = { is_simulated: true, provider: null, settings: null, token: null };
  const claim = { ...ids, ...simulated, channel: 'sms', step: steps[1], purpose: 'service', address: to };
  const tried = (fetch: (id: string) => Promise<AccountContext | null>) => {
    const suspensions = new Suspensions(new AccountDirectory(fetch));
    return sendAttempt(claim as DueAttempt, { suspensions, log: createLogger('messaging', 'error') } as SendContext);
  };
  const account = { id: claim.account_id, suspended: true } as AccountContext;
  expect(await tried(async () => account)).toEqual({ outcome: 'suspended' });
  expect(await tried(async () => ({ ...account, suspended: false }))).toMatchObject({ outcome: 'accepted' });
  const unavailable = new ApiError('service_unavailable', 'The gateway is unavailable');
  expect(await tried(() => Promise.reject(unavailable))).toEqual({ outcome: 'postponed', waitMs: 5_000 });
});
