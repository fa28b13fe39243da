import { randomUUID } from 'node:crypto';
import { takeMessage } from '@customer-platform/contracts/messaging';
import type { Bus } from '@customer-platform/service-kit';
import {
  mergeContacts,
  type Platform,
  rawRequest,
  startPlatform,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectAs, message, openShop, startHttpProvider, withStatus } from '../../test/messaging.ts';
import {
  graphRequest,
  startGraphServer,
  startTwilioServer,
  twilioRequest,
  twilioSettings,
  whatsappSettings,
} from '../../test/provider-servers.ts';

const graph = await startGraphServer();
const twilio = await startTwilioServer();
let platform: Platform;
let bus: Bus;
let account: TestAccount;
let hook: string;
beforeAll(async () => {
  platform = await startPlatform({
    services: ['cdp', 'catalogue', 'messaging'],
    env: { MESSAGING_WHATSAPP_URL: graph.url, MESSAGING_TWILIO_URL: twilio.url },
  });
  bus = await connectAs(platform, 'catalogue');
}, 60_000);
afterAll(async () => {
  await bus.close();
  await platform.stop();
  await graph.stop();
  await twilio.stop();
});
beforeEach(async () => {
  account = await platform.account();
  const given = { provider: 'whatsapp_cloud', settings: whatsappSettings };
  hook = (await account.client.messages.channels.put({ params: { channel: 'whatsapp' }, body: given })).hook_url;
});

const phone = '4930901820';
const userId = 'DE.1349120865530274';
const timestamp = () => String(Math.floor(platform.clock.now().getTime() / 1_000));

/** Has Meta call the account's hook with one change of this value; returns the status. */
async function call(value: object): Promise<number> {
  return (await rawRequest(platform.gatewayUrl, 'POST', new URL(hook).pathname, asRaw(graphRequest(value)))).status;
}
const asRaw = ({ headers, body }: { headers: Record<string, string>; body: string }) => ({ headers, rawBody: body });

/** Sends a WhatsApp message via Meta; returns the event once it is emitted. */
async function write(content: object, { contacts = [], from }: { contacts?: object[]; from?: string } = {}) {
  const id = `wamid.${randomUUID()}`;
  const before = received().length;
  const sender = from === undefined ? {} : { from };
  expect(await call({ contacts, messages: [{ ...sender, id, timestamp: timestamp(), ...content }] })).toBe(200);
  return await waitFor('the message', () => received()[before]?.data);
}
const received = () => platform.events(account.id).filter(({ type }) => type === 'message.received');
const text = (body: string) => ({ type: 'text', text: { body } });
const hidden = { contacts: [{ user_id: userId, profile: { name: 'Ada' } }] };
const contacts = async () => (await account.client.cdp.contacts.list({})).data;
const whatsapp = (body = 'Hello') => [{ channel: 'whatsapp' as const, body }];
const takenBy = (recipient: object) => graph.taken.filter(({ fields }) => isPart(fields, recipient));
const isPart = (fields: Record<string, unknown>, part: object) =>
  Object.entries(part).every(([name, value]) => fields[name] === value);

describe('an inbound message on WhatsApp', () => {
  const image = { id: '1003383421387256', mime_type: 'image/jpeg' };
  const media = { mime_type: 'image/jpeg', file_name: null, provider_id: image.id };

  it('with a picture has its caption and type in the event', async () => {
    const body = 'How much is this one?';
    const data = await write({ type: 'image', image: { ...image, caption: body } }, { from: phone });
    const sent = { channel: 'whatsapp', from: `+${phone}`, type: 'image', body, media, reaction_to: null };
    expect(data.message).toMatchObject(sent);
  });

  it('as a reaction names the message that it belongs to', async () => {
    await write(text('Hi'), { from: phone });
    const { id } = await account.client.messages.send({ body: { to: `+${phone}`, channels: whatsapp() } });
    const { attempts } = await message(account, id, withStatus('sent'));
    const reaction = (message_id: string | null) => ({ type: 'reaction', reaction: { message_id, emoji: '👍' } });
    const data = await write(reaction(attempts[0]!.provider_id), { from: phone });
    expect(data.message).toMatchObject({ type: 'reaction', body: '👍', reaction_to: id });
    const other = await write(reaction('wamid.nobody'), { from: phone });
    expect(other.message).toMatchObject({ type: 'reaction', body: '👍', reaction_to: null });
  });

  it('is distinguished from notices of WhatsApp, which create no messages or contacts', async () => {
    const system = { type: 'system', system: { body: 'Ada changed from A to B' }, from: phone };
    const notices = [system, { type: 'unsupported' }].map((notice, n) => {
      return { id: `wamid.notice-${n}`, timestamp: timestamp(), ...notice };
    });
    expect(await call({ messages: notices })).toBe(200);
    await write(text('Hi'), { from: phone });
    expect(received()).toHaveLength(1);
    expect(await contacts()).toHaveLength(1);
    const rows = await platform.database('messaging')`
      select from inbound_messages where account_id = ${account.id}`;
    expect(rows).toHaveLength(1);
  });
});

describe('a sender without a number', () => {
  it('becomes a contact without a phone and is recognized again', async () => {
    const first = await write(text('Do you deliver?'), hidden);
    expect(first).toMatchObject({ message: { from: userId, body: 'Do you deliver?' }, contact: { phone: '' } });
    const second = await write(text('Hello?'), hidden);
    expect(second.contact).toEqual({ id: first.contact.id, name: 'Ada', phone: '' });
    expect(await contacts()).toMatchObject([{ id: first.contact.id, name: 'Ada', phone: null, email: null }]);
  });

  it('can be answered by a message to the contact, and by a reply', async () => {
    const { contact, message: written } = await write(text('Do you deliver?'), hidden);
    const sent = await account.client.messages.send({ body: { contact: contact.id, channels: whatsapp('Yes') } });
    expect(await message(account, sent.id, withStatus('sent'))).toMatchObject({ to: userId, contact });
    const reply = { channel: 'whatsapp' as const, body: 'On Saturdays too', reference: 'r', reply_to: written.id };
    const taken = await bus.ask(takeMessage, account.id, { key: randomUUID(), contact: contact.id, ...reply });
    expect(await message(account, taken.message!, withStatus('sent'))).toMatchObject({ to: userId });
    const bodies = takenBy({ recipient: userId }).map(({ fields }) => (fields.text as { body: string }).body);
    expect(bodies).toEqual(['Yes', 'On Saturdays too']);
  });

  it('gets marketing with consent, and no SMS', async () => {
    const { contact } = await write(text('Tell me of offers'), hidden);
    const consent = { channel: 'whatsapp' as const, purpose: 'marketing', state: 'granted' as const };
    await account.client.cdp.contacts.consents.record({ params: { contact_id: contact.id }, body: consent });
    const body = { contact: contact.id, purpose: 'marketing' as const, channels: whatsapp('Ten percent off') };
    const { id } = await account.client.messages.send({ body });
    expect(await message(account, id, withStatus('sent'))).toMatchObject({ to: userId });
    const bySms = { contact: contact.id, channels: [{ channel: 'sms' as const, body: 'Hello' }] };
    await expect(account.client.messages.send({ body: bySms })).rejects.toMatchObject({
      status: 400,
      field: 'contact',
    });
  });

  it('becomes the survivor once the contact is merged, and can still be written to', async () => {
    const { contact } = await write(text('Hi'), hidden);
    const kept = await account.client.cdp.contacts.create({ body: { name: 'Ada Example', email: 'ada@example.com' } });
    await mergeContacts(account.client, { keep: kept.id, merged: contact.id });
    expect((await write(text('Hi again'), hidden)).contact).toEqual({ id: kept.id, name: 'Ada Example', phone: '' });
    const sent = await account.client.messages.send({ body: { contact: kept.id, channels: whatsapp() } });
    expect(await message(account, sent.id, withStatus('sent'))).toMatchObject({ to: userId });
  });

  it('is the contact with the number shown before, and remains so when the number is hidden', async () => {
    const known = await account.client.cdp.contacts.create({ body: { name: 'Ada', phone: `+${phone}` } });
    const shown = { contacts: [{ wa_id: phone, user_id: userId, profile: { name: 'Ada' } }], from: phone };
    expect((await write(text('Hi'), shown)).contact.id).toBe(known.id);
    expect((await write(text('Hi'), hidden)).contact.id).toBe(known.id);
    expect(await contacts()).toHaveLength(1);
  });

  it('becomes a new contact after the old one was deleted', async () => {
    const { contact } = await write(text('Hi'), hidden);
    await account.client.cdp.contacts.delete({ params: { contact_id: contact.id } });
    const next = await write(text('Hi'), hidden);
    expect(next.contact.id).not.toBe(contact.id);
    expect((await write(text('Hi'), hidden)).contact.id).toBe(next.contact.id);
  });
});

describe('a number with a national digit', () => {
  it.each([
    ['Mexico', '+525512345699', '5215512345699', '+525512345699'],
    ['Argentina', '+541123456789', '5491123456789', '+5491123456789'],
    ['Brazil', '+5511987654321', '551187654321', '+5511987654321'],
  ])('of %s is the contact with the other form, and so is the filter and the recipient', async (...given) => {
    const [, known, from, written] = given;
    const contact = await account.client.cdp.contacts.create({ body: { name: 'Lupe', phone: known } });
    const data = await write(text('Hola'), { from });
    expect(data).toMatchObject({ message: { from: written }, contact: { id: contact.id } });
    const { data: found } = await account.client.cdp.contacts.list({ query: { phone: `+${from}` } });
    expect(found.map(({ id }) => id)).toEqual([contact.id]);
    expect(await contacts()).toHaveLength(1);
    const toContact = await account.client.messages.send({ body: { contact: contact.id, channels: whatsapp() } });
    expect(await message(account, toContact.id, withStatus('sent'))).toMatchObject({ to: known });
    for (const to of [`+${from}`, known]) {
      const { id } = await account.client.messages.send({ body: { to, channels: whatsapp() } });
      expect(await message(account, id, withStatus('sent'))).toMatchObject({ to: written });
    }
  });

  it('belongs to the contact that has it now', async () => {
    const { contact } = await write(text('Hola'), { from: '5215512345699' });
    await account.client.cdp.contacts.update({ params: { contact_id: contact.id }, body: { phone: '+525512345600' } });
    const other = await account.client.cdp.contacts.create({ body: { name: 'Lupe', phone: '+525512345699' } });
    expect((await write(text('Hola'), { from: '5215512345699' })).contact.id).toBe(other.id);
  });
});

describe('an inbound message via Twilio', () => {
  it.each(['?store=Berlin%20Mitte', '?store=Berlin+Mitte&a=%2F'])(
    'is accepted at a hook with the query %s, whose signature is verified as requested',
    async (query) => {
      const given = { provider: 'twilio', settings: twilioSettings };
      const { hook_url } = await account.client.messages.channels.put({ params: { channel: 'whatsapp' }, body: given });
      const fields = {
        MessageSid: 'SM1',
        SmsStatus: 'received',
        From: `whatsapp:+${phone}`,
        Body: 'This one?',
        NumMedia: '1',
        MediaUrl0: 'https://api.twilio.com/Media/ME1',
        MediaContentType0: 'image/jpeg',
      };
      const post = (sent: string, signed: string) => {
        const path = new URL(hook_url).pathname + sent;
        return rawRequest(platform.gatewayUrl, 'POST', path, asRaw(twilioRequest(hook_url + signed, fields)));
      };
      expect((await post(query, '?store=Hamburg')).status).toBe(401);
      expect((await post(query, query)).status).toBe(200);
      const { data } = await platform.event(account.id, 'message.received');
      expect(data.message).toMatchObject({
        type: 'image',
        body: 'This one?',
        media: { mime_type: 'image/jpeg', file_name: null, provider_id: 'https://api.twilio.com/Media/ME1' },
      });
    },
  );
});

describe('an inbound message via an http provider', () => {
  it('has its type, file and reaction target, and is answered by the provider’s own id', async () => {
    const provider = await startHttpProvider();
    const shop = await openShop(platform, { whatsapp: provider });
    const at = platform.clock.now().toISOString();
    const media = { mime_type: 'image/png', provider_id: 'file-7' };
    const told = (n: number) =>
      waitFor('the event', () => {
        return platform.events(shop.account.id).filter(({ type }) => type === 'message.received')[n]?.data;
      });
    const image = { type: 'image', id: 'i-1', user_id: 'u-1', name: 'Ada', body: 'This?', media, at };
    expect((await shop.hook('whatsapp', image)).status).toBe(200);
    const { message: written, contact } = await told(0);
    expect(written).toMatchObject({ from: 'u-1', type: 'image', body: 'This?', media: { ...media, file_name: null } });
    const sent = await shop.account.client.messages.send({ body: { contact: contact.id, channels: whatsapp('Yes') } });
    const { attempts } = await message(shop.account, sent.id, withStatus('sent'));
    expect(provider.sentTo('u-1')).toMatchObject([{ body: 'Yes' }]);
    const reaction = {
      type: 'reaction',
      id: 'i-2',
      user_id: 'u-1',
      body: '👍',
      reaction_to: attempts[0]!.provider_id,
      at,
    };
    expect((await shop.hook('whatsapp', reaction)).status).toBe(200);
    expect(await told(1)).toMatchObject({
      message: { type: 'reaction', body: '👍', reaction_to: sent.id },
      contact: { id: contact.id },
    });
    await provider.stop();
  });
});

it('a sender without a number who writes twice before customer data responds becomes one contact', async () => {
  const messages = ['Hi', 'How much is it?'].map((body) => ({
    id: `wamid.${randomUUID()}`,
    timestamp: timestamp(),
    ...text(body),
  }));
  expect(await call({ ...hidden, messages })).toBe(200);
  await waitFor('both', () => received().length === 2);
  expect(new Set(received().map(({ data }) => data.contact.id)).size).toBe(1);
  expect(await contacts()).toHaveLength(1);
});
