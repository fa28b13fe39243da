import { randomUUID } from 'node:crypto';
import { findOrCreateContact, recordOptOut } from '@customer-platform/contracts/cdp';
import { serviceUnavailable } from '@customer-platform/service-kit';
import { busOf, type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type HttpProvider,
  message,
  openShop,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';
import { type ProviderServer, startTwilioServer, twilioSettings } from '../../test/provider-servers.ts';

let twilio: ProviderServer;
let platform: Platform;
let provider: HttpProvider;
let shop: Shop;
beforeAll(async () => {
  twilio = await startTwilioServer();
  platform = await startPlatform({ services: ['cdp', 'messaging'], env: { MESSAGING_TWILIO_URL: twilio.url } });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  await twilio?.stop();
});
beforeEach(async () => {
  provider = await startHttpProvider();
  shop = await openShop(platform, { sms: provider, whatsapp: provider, email: provider });
});
afterEach(() => provider.stop());

const phone = '+4930901820';
const receivedBy = ({ account }: Shop, of = platform) =>
  of.events(account.id).filter(({ type }) => type === 'message.received');

/** Writes as the contact, and returns the choice in the event. */
async function write(body: string, channel: 'sms' | 'whatsapp' | 'email' = 'sms', from = phone) {
  platform.clock.advance(1_000);
  const at = platform.clock.now().toISOString();
  const { status } = await shop.hook(channel, { type: 'inbound', id: randomUUID(), from, body, at });
  expect(status).toBe(200);
  const { data } = await waitFor('the event', () =>
    receivedBy(shop).find((event) => Date.parse(event.data.message.at) === Date.parse(at)),
  );
  const { opt_out, opt_in } = data;
  return { ...(opt_out && { opt_out }), ...(opt_in && { opt_in }) };
}

async function contactWith(fields: object): Promise<string> {
  return (await shop.account.client.cdp.contacts.create({ body: fields })).id;
}

/** Returns the consents of a contact, newest first. */
async function consentsOf(contact_id: string) {
  const { data } = await shop.account.client.cdp.contacts.consents.list({ params: { contact_id } });
  return data.map(({ channel, purpose, state, source }) => `${channel} ${purpose} ${state} ${source}`);
}

const grant = (contact_id: string, channel: 'sms' | 'whatsapp' | 'email', state: 'granted' | 'withdrawn' = 'granted') =>
  shop.account.client.cdp.contacts.consents.record({
    params: { contact_id },
    body: { channel, purpose: 'marketing', state, source: 'form' },
  });

const advertise = async (contact: string, channel: 'sms' | 'whatsapp' | 'email') =>
  (
    await shop.account.client.messages.send({
      body: { contact, purpose: 'marketing', channels: [{ channel, subject: 'New', body: 'Ten percent off' }] },
    })
  ).id;

describe('a contact who writes STOP', () => {
  it('gets no more marketing on that channel until START, but still on others', async () => {
    const contact = await contactWith({ name: 'Ada', phone });
    await grant(contact, 'sms');
    await grant(contact, 'whatsapp');
    expect(await write(' Stop! ')).toEqual({ opt_out: true });
    expect((await consentsOf(contact))[0]).toBe('sms marketing withdrawn keyword');
    const refused = await message(shop.account, await advertise(contact, 'sms'), withStatus('refused'));
    expect(refused.attempts).toMatchObject([{ channel: 'sms', status: 'skipped', reason: 'no_consent' }]);
    await message(shop.account, await advertise(contact, 'whatsapp'), withStatus('sent'));
    expect(await write('START')).toEqual({ opt_in: true });
    expect((await consentsOf(contact))[0]).toBe('sms marketing granted keyword');
    await message(shop.account, await advertise(contact, 'sms'), withStatus('sent'));
    expect(await write('Thank you')).toEqual({});
    expect(await consentsOf(contact)).toHaveLength(4);
  });

  it('on WhatsApp or by email withdraws consent there', async () => {
    const contact = await contactWith({ name: 'Ada', phone, email: 'ada@example.com' });
    expect(await write('Arrêt', 'whatsapp')).toEqual({ opt_out: true });
    expect(await write('unsubscribe', 'email', 'ada@example.com')).toEqual({ opt_out: true });
    expect(await consentsOf(contact)).toEqual([
      'email marketing withdrawn keyword',
      'whatsapp marketing withdrawn keyword',
    ]);
  });

  it('as a new sender becomes a contact that has opted out', async () => {
    expect(await write('STOPALL')).toEqual({ opt_out: true });
    const { data } = await shop.account.client.cdp.contacts.list({});
    expect(await consentsOf(data[0]!.id)).toEqual(['sms marketing withdrawn keyword']);
  });
});

it('START does not grant what the API withdrew, and is an ordinary message', async () => {
  const contact = await contactWith({ name: 'Ada', phone });
  expect(await write('START')).toEqual({});
  await grant(contact, 'sms', 'withdrawn');
  expect(await write('START')).toEqual({});
  expect(await consentsOf(contact)).toEqual(['sms marketing withdrawn form']);
});

it('a message to a recipient who opted out at Twilio fails with opted_out, and their consent is withdrawn', async () => {
  const contact = await contactWith({ name: 'Ada', phone });
  await grant(contact, 'sms');
  await shop.account.client.messages.channels.put({
    params: { channel: 'sms' },
    body: { provider: 'twilio', settings: twilioSettings },
  });
  const body = { code: 21610, message: 'Attempt to send to unsubscribed recipient', status: 400 };
  twilio.responses.push({ status: 400, body }, { status: 400, body });
  const failed = await message(shop.account, await advertise(contact, 'sms'), withStatus('failed'));
  expect(failed.attempts).toMatchObject([{ status: 'failed', reason: 'opted_out' }]);
  expect(failed.error).toEqual({
    code: 'opted_out',
    message: 'Twilio responded with 400: Attempt to send to unsubscribed recipient (21610)',
  });
  await waitFor('the withdrawal', async () => (await consentsOf(contact)).length === 2);
  expect(await consentsOf(contact)).toEqual(['sms marketing withdrawn keyword', 'sms marketing granted form']);
  await message(shop.account, await advertise(contact, 'sms'), withStatus('refused'));
  // A message to a number has no contact: there is no consent to withdraw.
  const toNumber = { to: '+4930901821', channels: [{ channel: 'sms' as const, body: 'Hello' }] };
  const { id } = await shop.account.client.messages.send({ body: toNumber });
  expect((await message(shop.account, id, withStatus('failed'))).error?.code).toBe('opted_out');
});

it('an inbound message waits for customer data, retries the same request, and is announced once', async () => {
  const alone = await startPlatform({ services: ['messaging'] });
  const bus = await busOf(alone, 'cdp');
  try {
    const asked: object[] = [];
    const contact = { id: randomUUID(), name: 'Ada', phone };
    bus.handle(findOrCreateContact, async () => ({ contact }));
    bus.handle(recordOptOut, async (_account, input) => {
      asked.push(input);
      if (asked.length < 3) throw serviceUnavailable('customer data is down');
      return { changed: true };
    });
    const mine = await openShop(alone, { sms: provider });
    // The provider's clock is ahead.
    const at = new Date(alone.clock.now().getTime() + 120_000).toISOString();
    await mine.hook('sms', { type: 'inbound', id: 'i-1', from: phone, body: 'start', at });
    const { data } = await alone.event(mine.account.id, 'message.received');
    expect(data).toMatchObject({ opt_in: true, contact });
    expect(asked).toHaveLength(3);
    expect(new Set(asked.map((input) => JSON.stringify(input))).size).toBe(1);
    expect(asked[0]).toMatchObject({ contact: contact.id, channel: 'sms', state: 'granted', source: 'keyword' });
    expect(receivedBy(mine, alone)).toHaveLength(1);
  } finally {
    await bus.close();
    await alone.stop();
  }
}, 60_000);
