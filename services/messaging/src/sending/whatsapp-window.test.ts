import type { Channel, MessageStep } from '@customer-platform/contracts/messaging';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openDesk } from '../../test/booking.ts';
import { type HttpProvider, message, startHttpProvider } from '../../test/messaging.ts';
import {
  graphRequest,
  type ProviderServer,
  startGraphServer,
  startTwilioServer,
  twilioRequest,
  twilioSettings,
  whatsappSettings,
} from '../../test/provider-servers.ts';

const hourMs = 3_600_000;
const to = '+4915112345678';
const template = { name: 'order_ready', language: 'de', parameters: ['Ada', '118'] };
const text = { channel: 'whatsapp' as const, body: 'Your order is ready' };

let graph: ProviderServer;
let twilio: ProviderServer;
let platform: Platform;
let account: TestAccount;
let sms: HttpProvider;
beforeAll(async () => {
  [graph, twilio] = [await startGraphServer(), await startTwilioServer()];
  const env = { MESSAGING_WHATSAPP_URL: graph.url, MESSAGING_TWILIO_URL: twilio.url };
  platform = await startPlatform({ services: ['cdp', 'calendar', 'catalogue', 'messaging'], env });
}, 60_000);
afterAll(async () => {
  await platform.stop();
  await Promise.all([graph.stop(), twilio.stop()]);
});
beforeEach(async () => {
  account = await platform.account();
  sms = await startHttpProvider();
});
afterEach(async () => {
  for (const server of [graph, twilio]) server.taken.length = 0;
  await sms.stop();
});

const put = (channel: Channel, provider: string, settings: Record<string, unknown>, client = account.client) =>
  client.messages.channels.put({ params: { channel }, body: { provider, settings } });
const putSms = () => put('sms', 'http', { url: sms.url, secret: sms.secret });

/** Sets WhatsApp up and returns how its customers write. */
const providers = {
  async whatsapp_cloud() {
    const { hook_url } = await put('whatsapp', 'whatsapp_cloud', whatsappSettings);
    const write = (from: string) =>
      graphRequest({
        contacts: [{ wa_id: from.slice(1), profile: { name: 'Ada' } }],
        messages: [
          {
            from: from.slice(1),
            id: `wamid.${from}`,
            timestamp: String(Math.floor(platform.clock.now().getTime() / 1_000)),
            type: 'text',
            text: { body: 'Is it ready?' },
          },
        ],
      });
    return { hook_url, write, taken: graph.taken };
  },
  async twilio() {
    const { hook_url } = await put('whatsapp', 'twilio', twilioSettings);
    const write = (from: string) =>
      twilioRequest(hook_url, {
        MessageSid: `SM${from}`,
        From: `whatsapp:${from}`,
        To: 'whatsapp:+4930901820',
        Body: 'Is it ready?',
      });
    return { hook_url, write, taken: twilio.taken };
  },
};

async function send(channels: readonly Partial<MessageStep>[], recipient: object = { to }) {
  const { id } = await account.client.messages.send({ body: { ...recipient, channels: channels as MessageStep[] } });
  return await message(account, id, ({ attempts, status }) =>
    attempts.length === channels.length
      ? attempts.at(-1)!.status !== 'sending'
      : status === 'failed' || status === 'sent',
  );
}

describe.each(['whatsapp_cloud', 'twilio'] as const)('by %s', (name) => {
  it('a text to a recipient who never wrote uses the next channel at once; a template is sent', async () => {
    const { taken } = await providers[name]();
    await putSms();
    const skipped = await send([text, { channel: 'sms', body: 'By SMS' }]);
    expect(skipped).toMatchObject({
      status: 'sent',
      channel: 'sms',
      attempts: [
        { channel: 'whatsapp', status: 'skipped', reason: 'outside_window' },
        { channel: 'sms', status: 'sent' },
      ],
    });
    expect(await send([text])).toMatchObject({ status: 'failed', error: { code: 'outside_window' } });
    expect(taken).toEqual([]);
    const named = { ...template, name: name === 'twilio' ? `HX${'0a'.repeat(16)}` : template.name };
    const sent = await send([{ channel: 'whatsapp', template: named }]);
    expect(sent).toMatchObject({ status: 'sent', body: '', template: named });
    expect(taken).toHaveLength(1);
  });

  it('a text goes to a sender of the last 24 hours, and to their contact', async () => {
    const { hook_url, write } = await providers[name]();
    const { body: rawBody, headers } = write(to);
    const written = await rawRequest(platform.gatewayUrl, 'POST', new URL(hook_url).pathname, { rawBody, headers });
    expect(written.status).toBe(200);
    const { contact } = (await platform.event(account.id, 'message.received')).data;
    expect(await send([text])).toMatchObject({ status: 'sent', channel: 'whatsapp' });
    expect(await send([text], { contact: contact.id })).toMatchObject({ status: 'sent', to });
    const other = await account.client.cdp.contacts.create({ body: { name: 'Ada again', phone: to } });
    expect(await send([text], { contact: other.id })).toMatchObject({ status: 'sent', to });
    platform.clock.advance(24 * hourMs - 60_000);
    expect(await send([text])).toMatchObject({ status: 'sent' });
    platform.clock.advance(120_000);
    expect(await send([text])).toMatchObject({ status: 'failed', error: { code: 'outside_window' } });
    expect(await send([text], { contact: contact.id })).toMatchObject({ status: 'failed' });
  });
});

it('an http provider has no window, and receives the template', async () => {
  await put('whatsapp', 'http', { url: sms.url, secret: sms.secret });
  expect(await send([text])).toMatchObject({ status: 'sent' });
  await send([{ channel: 'whatsapp', template }]);
  expect(sms.sentTo(to)).toMatchObject([{ body: text.body }, { body: '', template }]);
});

it('in a sandbox a number that ends in 05 is outside the window', async () => {
  const status = async (number: string, step: object) => {
    const body = { to: number, channels: [{ channel: 'whatsapp', ...step } as MessageStep] };
    const { id } = await account.testClient.messages.send({ body });
    return await waitFor('its end', async () => {
      const found = await account.testClient.messages.get({ params: { message_id: id } });
      return ['delivered', 'failed'].includes(found.status) && `${found.status} ${found.error?.code ?? ''}`;
    });
  };
  expect(await status('+4930901805', { body: 'Hello' })).toBe('failed outside_window');
  expect(await status('+4930901805', { template })).toBe('delivered ');
  expect(await status('+4930901801', { body: 'Hello' })).toBe('delivered ');
});

it.each([
  ['neither a text nor a template', { channel: 'whatsapp' }],
  ['both', { channel: 'whatsapp', body: 'Hello', template }],
  ['a template on another channel', { channel: 'sms', template }],
  ['a template without a name', { channel: 'whatsapp', template: { language: 'de' } }],
  ['a template whose name is too long', { channel: 'whatsapp', template: { ...template, name: 'x'.repeat(513) } }],
  ['a language that is none', { channel: 'whatsapp', template: { ...template, language: 'de-DE' } }],
  ['too many parameters', { channel: 'whatsapp', template: { ...template, parameters: Array(21).fill('x') } }],
  ['an empty parameter', { channel: 'whatsapp', template: { ...template, parameters: [''] } }],
  ['a parameter that is too long', { channel: 'whatsapp', template: { ...template, parameters: ['x'.repeat(1_025)] } }],
])('a channel with %s is 400', async (_, step) => {
  const response = await account.request('POST', '/v1/messages', { body: { to, channels: [step] } });
  expect([response.status, response.body.error.field]).toEqual([400, 'channels']);
});

describe('automatic messages', () => {
  const whatsapp = { name: 'visit', language: 'en', parameters: ['{{contact_name}}', '{{date}}', '{{meeting_link}}'] };

  /** An account whose confirmations and reminders go by WhatsApp, then by SMS. */
  async function open() {
    const desk = await openDesk(platform);
    account = desk.account;
    const { hook_url } = await put('whatsapp', 'whatsapp_cloud', whatsappSettings);
    await putSms();
    await account.client.messages.channels.delete({ params: { channel: 'email' } });
    await account.client.calendar.settings.update({
      body: { confirmation: { channel: 'whatsapp' }, reminders: [{ minutes_before: 60, channel: 'whatsapp' }] },
    });
    return { ...desk, hook_url };
  }
  const startsAt = () => new Date(Math.ceil(platform.clock.now().getTime() / hourMs) * hourMs + 48 * hourMs);

  it('a confirmation uses its template, filled in; without one, a text on the next channel', async () => {
    const desk = await open();
    const first = await desk.book(startsAt().toISOString());
    const [confirmation] = await desk.told(first, 1);
    const skipped = await message(account, confirmation!.id, ({ status }) => status === 'sent');
    expect(skipped).toMatchObject({ channel: 'sms', body: expect.stringContaining('Consultation') });
    expect(skipped.attempts.map(({ reason }) => reason)).toEqual(['outside_window', null]);
    await account.client.messages.templates.update({ body: { appointment_booked: { whatsapp } } });
    const second = await desk.book(new Date(startsAt().getTime() + hourMs).toISOString());
    const parameters = ['Carla', expect.stringMatching(/^\w+day, /), '-'];
    const [told] = await desk.told(second, 1);
    const sent = await message(account, told!.id, ({ status }) => status === 'sent');
    expect(sent).toMatchObject({ channel: 'whatsapp', body: '', template: { ...whatsapp, parameters } });
  });

  it('a reminder uses its template', async () => {
    const desk = await open();
    await account.client.messages.templates.update({ body: { appointment_reminder: { whatsapp } } });
    const begins = startsAt();
    const appointment = await desk.book(begins.toISOString());
    await desk.told(appointment, 1);
    platform.clock.set(new Date(begins.getTime() - hourMs + 1_000).toISOString());
    const [, reminder] = await desk.told(appointment, 2);
    const sent = await message(account, reminder!.id, ({ status }) => status === 'sent');
    expect(sent).toMatchObject({ channel: 'whatsapp', template: { name: 'visit' } });
    expect(graph.taken.at(-1)!.fields).toMatchObject({ type: 'template', to: '4930901820' });
  });

  it('a reminder uses no other channel once the appointment has begun', async () => {
    const desk = await open();
    await account.client.messages.templates.update({ body: { appointment_reminder: { whatsapp } } });
    const begins = startsAt();
    const appointment = await desk.book(begins.toISOString());
    await desk.told(appointment, 1);
    platform.clock.set(new Date(begins.getTime() - hourMs + 1_000).toISOString());
    const [, reminder] = await desk.told(appointment, 2);
    await message(account, reminder!.id, ({ status }) => status === 'sent');
    const told = sms.received.length;
    platform.clock.advance(hourMs + 1_000);
    const ended = await message(account, reminder!.id, ({ attempts }) => attempts[1]?.status === 'skipped');
    expect(ended).toMatchObject({ status: 'sent', channel: 'whatsapp', attempts: [{}, { reason: 'too_late' }] });
    expect(sms.received).toHaveLength(told);
  });

  it('the reason of a declined order uses the fallback outside the window', async () => {
    const { contact } = await open();
    const items = [{ sku: 'shampoo', name: 'Shampoo', quantity: 1, unit_price_minor: 900 }];
    const { id } = await account.client.catalogue.orders.create({ body: { contact, items } });
    await account.client.catalogue.orders.decline({ params: { order_id: id }, body: { reason: 'Sold out' } });
    await waitFor('the reason', () => sms.sentTo('+4930901820').length === 1);
    expect(sms.sentTo('+4930901820')[0]!.body).toContain('Sold out');
    const { data } = await account.client.messages.list({ query: { contact } });
    expect(await message(account, data[0]!.id, ({ status }) => status === 'sent')).toMatchObject({ channel: 'sms' });
  });
});
