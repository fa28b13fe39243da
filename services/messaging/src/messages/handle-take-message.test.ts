import { randomUUID } from 'node:crypto';
import { type Channel, takeMessage } from '@customer-platform/contracts/messaging';
import type { Bus } from '@customer-platform/service-kit';
import { mergeContacts, type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  connectAs,
  type HttpProvider,
  message,
  openShop,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';

let platform: Platform;
let provider: HttpProvider;
let bus: Bus;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'catalogue', 'messaging'] });
  provider = await startHttpProvider();
  bus = await connectAs(platform, 'catalogue');
}, 60_000);
afterAll(async () => {
  await bus.close();
  await platform.stop();
  await provider.stop();
});
beforeEach(async () => {
  account = await platform.account();
});

const phone = '+4930901820';
const addContact = async (body: object = { name: 'Carla', phone }) =>
  (await account.client.cdp.contacts.create({ body })).id;
const ask = async (contact: string, more: object = {}, accountId = account.id) => {
  const given = { contact, channel: 'sms' as const, body: 'Sold out', reference: 'order-1' };
  return (await bus.ask(takeMessage, accountId, { key: randomUUID(), ...given, ...more })).message!;
};
/** Sends a message like other services: retries with its key until there is a reply. */
const hand = (contact: string, more: object = {}, accountId = account.id) => {
  const keyed = { key: randomUUID(), ...more };
  return waitFor('a reply', () => ask(contact, keyed, accountId));
};
const all = async () => (await account.client.messages.list({})).data;
const get = (message_id: string) => account.client.messages.get({ params: { message_id } });

describe('a declined order', () => {
  it('reaches its customer with the reason, on its channel', async () => {
    const { testClient: client } = account;
    const contact = await client.cdp.contacts.create({ body: { name: 'Carla', phone: '+4930901801' } });
    const items = [{ sku: 'TEA', name: 'Tea', quantity: 1, unit_price_minor: 500 }];
    const order = await client.catalogue.orders.create({ body: { contact: contact.id, items, channel: 'whatsapp' } });
    await client.catalogue.orders.decline({ params: { order_id: order.id }, body: { reason: 'There is no tea' } });
    const query = { reference: `order-${order.number}` };
    const message = await waitFor('the delivery', async () => {
      const { data } = await client.messages.list({ query });
      return data.find(({ status }) => status === 'delivered');
    });
    expect(message).toMatchObject({
      channel: 'whatsapp',
      to: '+4930901801',
      purpose: 'service',
      contact: { id: contact.id },
    });
    expect(message.body).toContain('There is no tea');
    expect((await client.messages.list({ query })).data).toHaveLength(1);
  });
});

describe('a message from another service', () => {
  it("is stored as given; an email has the account's name as subject", async () => {
    const contact = await addContact();
    const id = await hand(contact);
    expect(await get(id)).toMatchObject({
      id,
      reference: 'order-1',
      channel: 'sms',
      purpose: 'service',
      body: 'Sold out',
      to: phone,
      send_at: null,
      contact: { id: contact, name: 'Carla', phone },
    });
    const email = await hand(contact, { channel: 'email' });
    const rows = await platform.database('messaging')`select steps from messages where id = ${email}`;
    const step = { channel: 'email', subject: 'Test', body: 'Sold out', fallback_after_seconds: 300 };
    expect(rows).toMatchObject([{ steps: [step] }]);
  });

  it('is stored once per key and account: a repeated request returns the first one, whatever its content', async () => {
    const [contact, other] = [await addContact(), await addContact({ name: 'Other' })];
    const key = randomUUID();
    const [id, ...same] = await Promise.all(Array.from({ length: 20 }, () => hand(contact, { key })));
    expect(new Set(same)).toEqual(new Set([id]));
    expect(await hand(other, { key, body: 'Something else', channel: 'email' })).toBe(id);
    expect(await hand(randomUUID(), { key })).toBe(id);
    expect(await all()).toMatchObject([{ id, body: 'Sold out', contact: { id: contact } }]);
    expect(await hand(contact)).not.toBe(id);
    expect(await hand(contact, { key }, (await platform.account()).id)).not.toBe(id);
  });

  it('goes to the number of a contact that this service did not know', async () => {
    const contact = await addContact();
    const sql = platform.database('messaging');
    await waitFor(
      'the copy',
      async () => (await sql`delete from contacts where id = ${contact} returning 1`).length === 1,
    );
    expect(await get(await hand(contact))).toMatchObject({ to: phone, contact: { id: contact, name: 'Carla', phone } });
  });

  it('to an unknown contact is stored, and fails without an address', async () => {
    const { sandboxId, testClient } = account;
    const message_id = await hand(randomUUID(), {}, sandboxId);
    await platform.event(sandboxId, 'message.failed');
    const shown = await testClient.messages.get({ params: { message_id } });
    expect(shown).toMatchObject({ status: 'failed', error: { code: 'no_address' }, to: '' });
  });

  it('that needs its channel is refused and not stored if the channel is not set up', async () => {
    const contact = await addContact();
    const refused = { key: randomUUID(), contact, channel: 'sms' as const, body: 'Hello', reference: 'plan-1' };
    const needy = { ...refused, needs_channel: true };
    const reply = await waitFor('a reply', () => bus.ask(takeMessage, account.id, needy));
    expect(reply).toEqual({ message: null, refusal: expect.stringContaining('The channel sms is not set up') });
    expect(await all()).toEqual([]);
    // All channels of a sandbox are simulated.
    const simulated = await waitFor('a reply', () => bus.ask(takeMessage, account.sandboxId, needy));
    expect(simulated).toEqual({ message: expect.any(String), refusal: null });
    // An accepted message stays accepted, whatever is set up later.
    expect(await bus.ask(takeMessage, account.id, refused)).toMatchObject({ refusal: null });
    expect(await bus.ask(takeMessage, account.id, needy)).toMatchObject({ refusal: null });
  });

  it('for an unknown account is refused', async () => {
    await expect(ask(randomUUID(), {}, randomUUID())).rejects.toMatchObject({ code: 'service_unavailable' });
  });
});

describe('a reply', () => {
  /** Receives a message, and returns it with the contact that it created. */
  async function hear(shop: Shop, from: string, channel: Channel = 'sms') {
    const at = platform.clock.now().toISOString();
    await shop.hook(channel, { type: 'inbound', from, name: 'Carla', body: 'Hello?', id: randomUUID(), at });
    const { data } = await platform.event(shop.account.id, 'message.received', ({ message }) => message.from === from);
    return { reply_to: data.message.id as string, contact: data.contact.id as string };
  }

  it('goes to the number that the customer wrote from, even after a merge', async () => {
    const shop = await openShop(platform, { sms: provider });
    const { client, id: accountId } = shop.account;
    const { reply_to, contact } = await hear(shop, phone);
    const keep = (await client.cdp.contacts.create({ body: { name: 'Carla', phone: '+4930901821' } })).id;
    await mergeContacts(client, { keep, merged: contact });
    const sql = platform.database('messaging');
    await waitFor('the merge', async () => (await sql`select 1 from contacts where merged_into = ${keep}`).length > 0);
    const reply = await message(shop.account, await hand(contact, { reply_to }, accountId), withStatus('sent'));
    expect(reply).toMatchObject({ to: phone, contact: { id: keep, phone: '+4930901821' } });
    expect(provider.sentTo(phone)).toHaveLength(1);
    expect((await client.messages.list({ query: { contact: keep } })).data).toMatchObject([{ id: reply.id }]);
  });

  it('goes to the contact if the channel cannot reach the sender', async () => {
    const shop = await openShop(platform, { sms: provider, email: provider });
    const { reply_to } = await hear(shop, 'carla@example.com', 'email');
    const contact = (await shop.account.client.cdp.contacts.create({ body: { name: 'Carla', phone } })).id;
    const bySms = await hand(contact, { reply_to }, shop.account.id);
    const byEmail = await hand(contact, { reply_to, channel: 'email' }, shop.account.id);
    const toOf = async (message_id: string) => (await shop.account.client.messages.get({ params: { message_id } })).to;
    expect([await toOf(bySms), await toOf(byEmail)]).toEqual([phone, 'carla@example.com']);
    const unknown = await hand(contact, { reply_to: randomUUID() }, shop.account.id);
    expect(await toOf(unknown)).toBe(phone);
  });

  it('to a contact deleted meanwhile is not sent', async () => {
    const shop = await openShop(platform, { sms: provider });
    const { client } = shop.account;
    const { reply_to, contact } = await hear(shop, '+4930901822');
    await client.cdp.contacts.delete({ params: { contact_id: contact } });
    const sql = platform.database('messaging');
    await waitFor(
      'the deletion',
      async () => (await sql`select 1 from contacts where id = ${contact} and deleted`).length > 0,
    );
    const message_id = await hand(contact, { reply_to }, shop.account.id);
    expect((await message(shop.account, message_id, withStatus('failed'))).error?.code).toBe('no_address');
    expect(provider.sentTo('+4930901822')).toEqual([]);
  });
});
