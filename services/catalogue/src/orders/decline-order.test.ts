import { startService } from '@customer-platform/service-kit';
import { busOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import {
  type HandedMessage,
  type Messaging,
  mergeContact,
  openShop,
  refusal,
  type Shop,
  startMessaging,
} from '../../test/catalogue.ts';
import { catalogue } from '../start.ts';

/** Lease of a message during its handover. */
const leaseMs = 10_000;
let messaging: Messaging | undefined;
// A later reply would cause another handover. The timeout must be shorter than the lease.
const env = { BUS_REQUEST_TIMEOUT_MS: '8000' };
const platform = await startPlatform({ services: ['cdp', 'catalogue'], env });
afterAll(() => platform.stop());
const sql = platform.database('catalogue');
afterEach(async () => {
  await messaging?.close();
  messaging = undefined;
});

const decline = (shop: Shop, id: string, reason?: string) =>
  shop.client.catalogue.orders.decline({ params: { order_id: id }, body: reason === undefined ? {} : { reason } });
const waiting = (account: TestAccount, database = sql) =>
  database<{ id: string; tries: number; due_at: Date }[]>`
    select id, tries, due_at from pending_messages where account_id = ${account.id}`;

/** Waits until no message of an account is pending. Returns the messages handed over for it. */
async function handedFor(account: TestAccount): Promise<HandedMessage[]> {
  await waitFor('every message to be taken', async () => (await waiting(account)).length === 0);
  return messaging!.of(account);
}

describe('declining an order', () => {
  it("sends the reason to the customer on the order's channel", async () => {
    messaging = await startMessaging(platform);
    const shop = await openShop(platform);
    await shop.order();
    const { id } = await shop.order({ channel: 'sms' });
    await decline(shop, id, 'Sold out, sorry 😀');
    expect(await handedFor(shop.account)).toEqual([
      {
        account: shop.account.id,
        key: expect.any(String),
        contact: shop.contact.id,
        channel: 'sms',
        body: 'Sold out, sorry 😀',
        reference: 'order-2',
        needs_channel: false,
        is_automatic: true,
      },
    ]);
  });

  it('sends nothing without a reason, and nothing when repeated', async () => {
    messaging = await startMessaging(platform);
    const shop = await openShop(platform);
    const [silent, empty, told] = [await shop.order(), await shop.order(), await shop.order()];
    await decline(shop, silent.id);
    await decline(shop, empty.id, '');
    await decline(shop, told.id, 'first');
    for (const { id } of [silent, empty, told]) await decline(shop, id, 'again');
    expect((await handedFor(shop.account)).map(({ body }) => body)).toEqual(['first']);
  });

  it('happens once for 50 concurrent requests: one event, one message', async () => {
    messaging = await startMessaging(platform);
    const shop = await openShop(platform);
    const { id } = await shop.order();
    const declined = await Promise.all(Array.from({ length: 50 }, (_, index) => decline(shop, id, `reason ${index}`)));
    expect(new Set(declined.map((order) => JSON.stringify(order))).size).toBe(1);
    const marker = await shop.order();
    await decline(shop, marker.id, 'marker');
    await platform.event(shop.account.id, 'order.declined', (data) => data.order.id === marker.id);
    const events = platform.events(shop.account.id).filter(({ type }) => type === 'order.declined');
    expect(events.map(({ data }) => data.order.id)).toEqual([id, marker.id]);
    const references = (await handedFor(shop.account)).map(({ reference }) => reference);
    expect(references.sort()).toEqual(['order-1', 'order-2']);
  });

  it('accepts a reason of up to 1,000 code points', async () => {
    messaging = await startMessaging(platform);
    const shop = await openShop(platform);
    const right = ['x'.repeat(1_000), '😀'.repeat(1_000)];
    for (const reason of right) await decline(shop, (await shop.order()).id, reason);
    const { id } = await shop.order();
    for (const reason of [...right.map((text) => `${text}x`), 7]) {
      const response = await shop.account.request('POST', `/v1/catalogue/orders/${id}/decline`, { body: { reason } });
      expect(response).toMatchObject(refusal('reason'));
    }
    expect((await shop.client.catalogue.orders.get({ params: { order_id: id } })).status).toBe('new');
    expect((await handedFor(shop.account)).map(({ body }) => body).sort()).toEqual(right);
  });
});

describe('the reason of a decline', () => {
  it('waits while messaging is unavailable without reverting the decline, and is handed over later', async () => {
    const shop = await openShop(platform);
    const { id } = await shop.order();
    expect((await decline(shop, id, 'Sold out')).status).toBe('declined');
    await waitFor('failed attempts', async () => (await waiting(shop.account))[0]!.tries >= 2);
    expect((await shop.client.catalogue.orders.get({ params: { order_id: id } })).status).toBe('declined');
    const [row] = await waiting(shop.account);
    messaging = await startMessaging(platform);
    expect(await handedFor(shop.account)).toMatchObject([{ key: row!.id, body: 'Sold out' }]);
  });

  it('is handed over again under the same key if messaging took it but did not reply', async () => {
    const impatient = await startPlatform({
      services: ['cdp', 'catalogue'],
      env: { BUS_REQUEST_TIMEOUT_MS: '1000' },
    });
    try {
      let asked = 0;
      messaging = await startMessaging(impatient, () => ++asked > 1);
      const shop = await openShop(impatient);
      await decline(shop, (await shop.order()).id, 'Sold out');
      await waitFor('its handover', async () => {
        return (await waiting(shop.account, impatient.database('catalogue'))).length === 0;
      });
      const handed = messaging.of(shop.account);
      // More than two if the second reply also came late.
      expect(handed.length).toBeGreaterThanOrEqual(2);
      expect(handed).toEqual(handed.map(() => handed[0]));
    } finally {
      await impatient.stop();
    }
  });

  it('is retried after 5 minutes at most', async () => {
    const shop = await openShop(platform);
    await decline(shop, (await shop.order()).id, 'Sold out');
    await waitFor('an attempt', async () => (await waiting(shop.account))[0]!.tries > 0);
    await sql`update pending_messages set tries = 40, due_at = ${platform.clock.now()} where account_id = ${shop.account.id}`;
    const waitMs = await waitFor('another', async () => {
      const [row] = await waiting(shop.account);
      const found = row!.due_at.getTime() - platform.clock.now().getTime();
      return row!.tries === 41 && found > leaseMs ? found : undefined;
    });
    expect(waitMs).toBeLessThanOrEqual(300_000);
    expect(waitMs).toBeGreaterThan(280_000);
    messaging = await startMessaging(platform);
    platform.clock.advance(300_000);
    expect(await handedFor(shop.account)).toHaveLength(1);
  });

  it('goes to the survivor if the contact has been merged meanwhile', async () => {
    const shop = await openShop(platform);
    const { id } = await shop.order();
    await decline(shop, id, 'Sold out');
    const bus = await busOf(platform, 'cdp');
    const survivor = await mergeContact(bus, shop);
    await bus.close();
    const shown = async () => (await shop.client.catalogue.orders.get({ params: { order_id: id } })).contact.id;
    await waitFor('the merge', async () => (await shown()) === survivor.id);
    messaging = await startMessaging(platform);
    expect(await handedFor(shop.account)).toMatchObject([{ contact: survivor.id, channel: 'whatsapp' }]);
  });

  it('is handed over once by two processes', async () => {
    const second = await startService(catalogue, platform.env('catalogue'), { clock: platform.clock.now });
    messaging = await startMessaging(platform);
    const shop = await openShop(platform);
    const orders = await Promise.all(Array.from({ length: 60 }, () => shop.order()));
    await Promise.all(orders.map(({ id }) => decline(shop, id, 'Sold out')));
    const references = (await handedFor(shop.account)).map(({ reference }) => reference);
    await second.stop();
    expect(references.sort()).toEqual(orders.map(({ number }) => `order-${number}`).sort());
  });
});
