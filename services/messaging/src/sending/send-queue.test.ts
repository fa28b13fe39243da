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
beforeAll(async () => {
  const env = { MESSAGING_MAX_PER_CHANNEL: '1', MESSAGING_MAX_IN_FLIGHT: '4' };
  platform = await startPlatform({ services: ['cdp', 'messaging'], env });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  [sms, email] = [await startHttpProvider(), await startHttpProvider()];
});
afterEach(() => Promise.all([sms.stop(), email.stop()]));

const inAnHour = () => new Date(platform.clock.now().getTime() + 3_600_000).toISOString();
const send = ({ account }: Shop, to: string, more: object = {}) => {
  const channel = to.includes('@') ? ('email' as const) : ('sms' as const);
  return account.client.messages.send({ body: { to, channels: [{ channel, body: 'Hello' }], ...more } });
};

it('waiting messages of one account do not delay those of another: lanes take turns', async () => {
  const shops = [await openShop(platform, { sms }), await openShop(platform, { sms })];
  const [first, second] = shops.sort((one, other) => (one.account.id < other.account.id ? -1 : 1)) as [Shop, Shop];
  const send_at = inAnHour();
  for (let index = 10; index < 40; index++) await send(first, `+49309018${index}`, { send_at });
  await send(second, '+4930901901', { send_at });
  platform.clock.advance(3_600_000);
  await waitFor('all to be sent', () => sms.received.length === 31, 30_000);
  const order = sms.received.map(({ body }) => (JSON.parse(body) as { to: string }).to);
  expect(order.indexOf('+4930901901')).toBeLessThan(10);
});

it('a channel that is set up again while its calls hang gets no higher limit', async () => {
  const shop = await openShop(platform, { sms, email });
  const held: (() => void)[] = [];
  sms.respond = (_, response) => void held.push(() => response.writeHead(200).end('{"id":"p"}'));
  for (let index = 10; index < 14; index++) await send(shop, `+49309018${index}`);
  await waitFor('the call', () => held.length === 1);
  const params = { channel: 'sms' as const };
  const body = { provider: 'http', settings: { url: `${sms.url}/sms`, secret: sms.secret } };
  for (let round = 0; round < 3; round++) {
    await shop.account.client.messages.channels.delete({ params });
    await shop.account.client.messages.channels.put({ params, body });
    const { id } = await send(shop, `ada${round}@example.com`);
    await message(shop.account, id, withStatus('sent'));
    expect(sms.received).toHaveLength(1);
  }
  held[0]!();
  sms.respond = (_, response) => void response.writeHead(200).end('{"id":"q"}');
  await waitFor('the others', () => sms.received.length === 4);
});

it('a message keeps its retries however long its first call was postponed', async () => {
  const shop = await openShop(platform, { sms });
  const { id } = await send(shop, '+4930901821', { send_at: inAnHour() });
  // As after postponed calls since an hour ago, because customer data did not respond.
  await platform.database('messaging')`
    update attempts set status = 'sending', started_at = ${new Date(platform.clock.now().getTime() - 3_600_000)} where message_id = ${id}`;
  sms.respond = (_, response) => void response.writeHead(503).end();
  platform.clock.advance(3_600_000);
  await waitFor('the first call', () => sms.received.length === 1);
  sms.respond = (_, response) => void response.writeHead(200).end('{"id":"p"}');
  await waitFor('its retry', async () => {
    platform.clock.advance(2_000);
    return sms.received.length === 2;
  });
  expect(await message(shop.account, id, withStatus('sent'))).toMatchObject({ status: 'sent' });
});
