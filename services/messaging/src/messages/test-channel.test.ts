import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type HttpProvider,
  message,
  openShop,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';

let platform: Platform;
let whatsapp: HttpProvider;
let sms: HttpProvider;
let shop: Shop;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging', 'webhooks'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  [whatsapp, sms] = [await startHttpProvider(), await startHttpProvider()];
  shop = await openShop(platform, { whatsapp, sms });
});
afterEach(() => Promise.all([whatsapp.stop(), sms.stop()]));

const test = (channel: string, body: object) =>
  shop.account.request('POST', `/v1/messages/channels/${channel}/test`, { body });

describe('a test of a channel', () => {
  it('is a message like any other, on this channel alone', async () => {
    const { status, body } = await test('sms', { to: '030 901820' });
    expect(status).toBe(202);
    expect(body).toMatchObject({
      status: 'queued',
      channel: 'sms',
      to: '+4930901820',
      contact: null,
      purpose: 'service',
      reference: null,
    });
    const sent = await message(shop.account, body.id, withStatus('sent'));
    expect(sent.attempts).toMatchObject([{ number: 1, channel: 'sms', provider: 'http', status: 'sent' }]);
    expect(sms.sentTo('+4930901820')).toMatchObject([{ message: body.id, channel: 'sms', body: body.body }]);
    expect(whatsapp.received).toHaveLength(0);
    await platform.event(shop.account.id, 'message.sent', (data) => data.message.id === body.id);
  });

  it('needs the channel to be set up, and an address on it', async () => {
    const email = await test('email', { to: 'ada@example.com' });
    expect([email.status, email.body.error]).toEqual([
      404,
      { code: 'not_found', message: 'There is no such channel in this account' },
    ]);
    expect((await test('email', {})).status).toBe(404);
    const fax = await test('fax', { to: '1' });
    expect([fax.status, fax.body.error.code]).toEqual([404, 'not_found']);
    for (const [body, text] of [
      [{}, 'to is required'],
      [{ to: 'ada@example.com' }, 'to must be a phone number, such as +4930901820'],
      [{ to: '' }, 'to must be a string of 1 to 254 characters'],
    ] as const) {
      const refused = await test('sms', body);
      expect([refused.status, refused.body.error]).toEqual([
        400,
        { code: 'invalid_request', message: text, field: 'to' },
      ]);
    }
    expect(sms.received).toHaveLength(0);
  });

  it('is simulated in a sandbox, where every channel is there', async () => {
    const { testClient } = shop.account;
    const { id } = await testClient.testChannel({ params: { channel: 'email' }, body: { to: 'ada02@example.com' } });
    await platform.event(shop.account.sandboxId, 'message.read', (data) => data.message.id === id);
  });

  it('is in the language of the account, or in English', async () => {
    const texts = [];
    for (const language of ['de-AT', 'pl']) {
      const account = await platform.account({ language });
      const params = { channel: 'sms' as const };
      const sent = await account.testClient.testChannel({ params, body: { to: '+4930901801' } });
      texts.push(sent.body);
      await platform.event(account.sandboxId, 'message.delivered', (data) => data.message.id === sent.id);
    }
    expect(texts).toEqual([
      expect.stringMatching(/^Das ist eine Testnachricht von .+\.$/),
      expect.stringMatching(/^This is a test message from .+\.$/),
    ]);
  });
});
