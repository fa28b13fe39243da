import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
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
let sms: HttpProvider;
let shop: Shop;
let accept: HttpProvider['respond'];
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  sms = await startHttpProvider();
  shop = await openShop(platform, { sms });
  accept = sms.respond;
  sms.respond = (_request, response) => response.writeHead(422).end('{"error":"no such route"}');
});
afterEach(() => sms.stop());

const day = 86_400_000;
const ago = (ms: number) => new Date(platform.clock.now().getTime() - ms).toISOString();
const resend = (body: object) => shop.account.request('POST', '/v1/messages/resend', { body });

/** Sends a message that fails. */
async function fail(to: string, reference: string) {
  const channels = [{ channel: 'sms' as const, body: `For ${to}` }];
  const { id } = await shop.account.client.messages.send({ body: { to, reference, channels } });
  return await message(shop.account, id, withStatus('failed'));
}

const list = async () => (await shop.account.client.messages.list({ query: { limit: 100 } })).data;

describe('one message', () => {
  it('that failed is resent as a new one with the same content', async () => {
    const failed = await fail('+4930901810', 'order-1');
    sms.respond = accept;
    const again = await shop.account.client.messages.resend({ params: { message_id: failed.id } });
    expect(again).toMatchObject({ status: 'queued', reference: 'order-1', to: '+4930901810', body: 'For +4930901810' });
    expect(again.id).not.toBe(failed.id);
    await message(shop.account, again.id, withStatus('sent'));
    expect(await message(shop.account, failed.id, withStatus('failed'))).toMatchObject({ id: failed.id });
  });

  it('that did not fail returns 409, and an unknown one 404', async () => {
    sms.respond = accept;
    const { id } = await shop.account.client.messages.send({
      body: { to: '+4930901810', channels: [{ channel: 'sms', body: 'Hello' }] },
    });
    await message(shop.account, id, withStatus('sent'));
    expect((await shop.account.request('POST', `/v1/messages/${id}/resend`)).status).toBe(409);
    const stranger = await platform.account();
    expect((await stranger.request('POST', `/v1/messages/${id}/resend`)).status).toBe(404);
  });
});

describe('all messages that failed in a period', () => {
  it('are resent once each, however often requested', async () => {
    const failed = [];
    for (let n = 10; n < 35; n++) failed.push(await fail(`+49309018${n}`, `order-${n}`));
    sms.respond = accept;
    const since = ago(3_600_000);
    expect((await resend({ since, code: 'unavailable' })).body).toEqual({ matched: 0 });
    const asked = await Promise.all([resend({ since, code: 'rejected' }), resend({ since })]);
    expect(asked.map(({ status }) => status)).toEqual([202, 202]);
    await waitFor('all to be sent', async () => (await list()).filter(({ status }) => status === 'sent').length === 25);
    await waitFor('no requests to be left', async () => {
      const rows = await platform.database('messaging')`select from resends where account_id = ${shop.account.id}`;
      return rows.length === 0;
    });
    expect(await list()).toHaveLength(50);
    expect((await resend({ since })).body).toEqual({ matched: 0 });
    expect(sms.sentTo('+4930901810')).toHaveLength(2);
  });

  it('are only those of the account and the period', async () => {
    const early = await fail('+4930901810', 'early');
    platform.clock.advance(3_600_000);
    const late = await fail('+4930901811', 'late');
    sms.respond = accept;
    expect((await resend({ since: early.failed_at, until: late.failed_at })).body).toEqual({ matched: 1 });
    await waitFor('the message to be sent', async () => (await list()).some(({ status }) => status === 'sent'));
    expect((await list()).filter(({ status }) => status === 'sent').map(({ reference }) => reference)).toEqual([
      'early',
    ]);
    const stranger = await platform.account();
    const theirs = await stranger.request('POST', '/v1/messages/resend', { body: { since: early.failed_at } });
    expect(theirs.body).toEqual({ matched: 0 });
  });

  it.each<[string, () => object]>([
    ['since', () => ({})],
    ['since', () => ({ since: 'yesterday' })],
    ['since', () => ({ since: ago(-60_000) })],
    ['since', () => ({ since: ago(7 * day + 60_000) })],
    ['until', () => ({ since: ago(day), until: ago(day) })],
    ['code', () => ({ since: ago(day), code: '' })],
  ])('are refused with a wrong %s', async (field, body) => {
    const response = await resend(body());
    expect([response.status, response.body.error.field]).toEqual([400, field]);
  });

  it('can be requested for the last seven days', async () => {
    expect((await resend({ since: ago(7 * day - 60_000) })).status).toBe(202);
  });
});
