import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  type HttpProvider,
  message,
  openShop,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';

let platform: Platform;
let sms: HttpProvider;
let email: HttpProvider;
let shop: Shop;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  [sms, email] = [await startHttpProvider(), await startHttpProvider()];
  shop = await openShop(platform, { sms, email });
});
afterEach(() => Promise.all([sms.stop(), email.stop()]));

const minuteMs = 60_000;
const params = { channel: 'sms' as const };

/** Makes the provider refuse the credentials; returns a function that makes it accept messages again. */
function refuse(provider: HttpProvider): () => void {
  const take = provider.respond;
  provider.respond = (_request, response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"the token has expired"}');
  return () => {
    provider.respond = take;
  };
}

const send = (to: string, fallback: object[] = []) =>
  shop.account.client.messages.send({
    body: { to, channels: [{ channel: 'sms', body: 'Hello' }, ...(fallback as [])] },
  });
/** Sends many messages, fifty at a time. */
async function sendMany(numbers: readonly string[]) {
  const sent: { id: string }[] = [];
  for (let begin = 0; begin < numbers.length; begin += 50)
    sent.push(...(await Promise.all(numbers.slice(begin, begin + 50).map((to) => send(to)))));
  return sent;
}

const channel = async () =>
  (await shop.account.client.messages.channels.list({})).data.find((one) => one.channel === 'sms')!;
const failing = () => waitFor('the channel to fail', async () => (await channel()).status === 'failing');
const states = (type: string) => platform.events(shop.account.id).filter((event) => event.type === type);

it('a channel with refused credentials is failing, with a reason and one event; its due messages wait', async () => {
  refuse(sms);
  const sent = await Promise.all(Array.from({ length: 20 }, (_none, n) => send(`+49309018${n + 10}`)));
  await failing();
  expect(await channel()).toMatchObject({
    status: 'failing',
    error: 'The provider responded with 401: the token has expired',
    failing_since: expect.any(String),
  });
  const { data } = await platform.event(shop.account.id, 'channel.failing');
  expect(data).toEqual({
    channel: 'sms',
    provider: 'http',
    error: 'The provider responded with 401: the token has expired',
    since: (await channel()).failing_since,
  });
  for (const { id } of sent) await message(shop.account, id, withStatus('queued'));
  const late = await send('+4930901899');
  await message(shop.account, late.id, withStatus('queued'));
  expect(states('channel.failing')).toHaveLength(1);
  expect(JSON.stringify(data)).not.toContain('hook');
});

it('one message a minute probes it, and a success sends all waiting messages once each', async () => {
  const recover = refuse(sms);
  const sent = await Promise.all(Array.from({ length: 30 }, (_none, n) => send(`+49309018${n + 10}`)));
  await failing();
  for (const { id } of sent) await message(shop.account, id, withStatus('queued'));
  const tried = sms.received.length;
  platform.clock.advance(minuteMs);
  await waitFor('one more call', () => sms.received.length === tried + 1);
  for (const { id } of sent) await message(shop.account, id, withStatus('queued'));
  expect(sms.received).toHaveLength(tried + 1);
  recover();
  platform.clock.advance(minuteMs);
  for (const { id } of sent) await message(shop.account, id, withStatus('sent'));
  expect(sms.received).toHaveLength(tried + 1 + sent.length);
  expect(await channel()).toMatchObject({ status: 'ready', error: null, failing_since: null });
  const { data } = await platform.event(shop.account.id, 'channel.recovered');
  expect(data).toEqual({ channel: 'sms', provider: 'http', error: null, since: expect.any(String) });
  expect(states('channel.recovered')).toHaveLength(1);
});

it('setting it up again sends all waiting messages at once, each once', async () => {
  const recover = refuse(sms);
  const sent = await sendMany(Array.from({ length: 600 }, (_none, n) => `+4930901${1000 + n}`));
  await failing();
  for (const { id } of sent) await message(shop.account, id, withStatus('queued'));
  recover();
  const tried = sms.received.length;
  const body = { provider: 'http', settings: { url: `${sms.url}/sms`, secret: sms.secret } };
  expect(await shop.account.client.messages.channels.put({ params, body })).toMatchObject({
    status: 'ready',
    error: null,
  });
  for (const { id } of sent) await message(shop.account, id, withStatus('sent'));
  expect(sms.received).toHaveLength(tried + sent.length);
  expect(states('channel.recovered')).toHaveLength(1);
});

it('after an hour a message continues on its next channel, or fails with channel_failing', async () => {
  refuse(sms);
  const alone = await send('+4930901810');
  const ada = await shop.account.client.cdp.contacts.create({
    body: { name: 'Ada', phone: '+4930901811', email: 'ada@example.com' },
  });
  const both = await shop.account.client.messages.send({
    body: {
      contact: ada.id,
      channels: [
        { channel: 'sms', body: 'Hello' },
        { channel: 'email', subject: 'Hello', body: 'By mail' },
      ],
    },
  });
  await failing();
  await message(shop.account, alone.id, withStatus('queued'));
  await message(shop.account, both.id, withStatus('queued'));
  platform.clock.advance(60 * minuteMs + 1_000);
  expect(await message(shop.account, alone.id, withStatus('failed'))).toMatchObject({
    error: { code: 'channel_failing' },
  });
  expect(await message(shop.account, both.id, withStatus('sent'))).toMatchObject({
    channel: 'email',
    attempts: [
      { status: 'skipped', reason: 'channel_failing' },
      { channel: 'email', status: 'sent' },
    ],
  });
});

it('the hour is a total, however often the channel recovers meanwhile', async () => {
  refuse(sms);
  const { id } = await send('+4930901810');
  await failing();
  await message(shop.account, id, withStatus('queued'));
  platform.clock.advance(50 * minuteMs);
  await waitFor('another call', () => sms.received.length === 2);
  await message(shop.account, id, withStatus('queued'));
  const body = { provider: 'http', settings: { url: `${sms.url}/sms`, secret: sms.secret } };
  expect(await shop.account.client.messages.channels.put({ params, body })).toMatchObject({ status: 'ready' });
  await failing();
  await message(shop.account, id, withStatus('queued'));
  platform.clock.advance(10 * minuteMs);
  expect(await message(shop.account, id, withStatus('failed'))).toMatchObject({ error: { code: 'channel_failing' } });
});

it('deleting the channel lets waiting messages continue, and a waiting message can be canceled', async () => {
  refuse(sms);
  const [gone, cancelled] = [await send('+4930901810'), await send('+4930901811')];
  await failing();
  for (const { id } of [gone, cancelled]) await message(shop.account, id, withStatus('queued'));
  await shop.account.client.messages.cancel({ params: { message_id: cancelled.id } });
  await shop.account.client.messages.channels.delete({ params });
  const ended = await message(shop.account, gone.id, withStatus('failed'));
  expect(ended).toMatchObject({ error: { code: 'not_set_up' } });
  expect((await message(shop.account, cancelled.id, withStatus('cancelled'))).attempts).toEqual([]);
});

it("many waiting messages delay neither the account's other channels nor other accounts", async () => {
  refuse(sms);
  await send('+4930901810');
  await failing();
  const other = await openShop(platform, { sms: email });
  await sendMany(Array.from({ length: 2_000 }, (_none, n) => `+4930902${1000 + n}`));
  const channels = [{ channel: 'email' as const, subject: 'Hello', body: 'Hello' }];
  const mail = await shop.account.client.messages.send({ body: { to: 'ada@example.com', channels } });
  const { id } = await other.account.client.messages.send({
    body: { to: '+4930901811', channels: [{ channel: 'sms', body: 'Hello' }] },
  });
  await message(shop.account, mail.id, withStatus('sent'));
  await message(other.account, id, withStatus('sent'));
});
