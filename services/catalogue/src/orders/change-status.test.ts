import type { OrderStatus } from '@customer-platform/contracts/catalogue';
import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openShop, type Shop } from '../../test/catalogue.ts';

const platform = await startPlatform({ services: ['cdp', 'catalogue'] });
afterAll(() => platform.stop());

const actions = { confirmed: 'confirm', declined: 'decline', fulfilled: 'fulfil', cancelled: 'cancel' } as const;
type Reached = keyof typeof actions;
const change = (shop: Shop, id: string, action: string, body: unknown = {}) =>
  shop.account.request('POST', `/v1/catalogue/orders/${id}/${action}`, { body });

/** Creates a shop with an order of this status. */
async function orderIn(status: OrderStatus): Promise<{ shop: Shop; id: string }> {
  const shop = await openShop(platform);
  const { id } = await shop.order();
  if (status === 'fulfilled') await change(shop, id, 'confirm');
  if (status !== 'new') await change(shop, id, actions[status]);
  return { shop, id };
}

/** Returns the events of an order. Waits for a later event of another order, so that all of them have arrived. */
async function eventsAbout(shop: Shop, id: string) {
  const marker = await shop.order();
  await platform.event(shop.account.id, 'order.created', (data) => data.order.id === marker.id);
  return platform.events(shop.account.id).filter(({ data }) => data.order?.id === id);
}

/** Outcome of each transition. yes: the order changes. no-op: it is returned unchanged. 409: refused. */
const table: Record<OrderStatus, Record<Reached, 'yes' | 'no-op' | '409'>> = {
  new: { confirmed: 'yes', declined: 'yes', fulfilled: '409', cancelled: 'yes' },
  confirmed: { confirmed: 'no-op', declined: 'yes', fulfilled: 'yes', cancelled: 'yes' },
  declined: { confirmed: '409', declined: 'no-op', fulfilled: '409', cancelled: '409' },
  fulfilled: { confirmed: '409', declined: '409', fulfilled: 'no-op', cancelled: '409' },
  cancelled: { confirmed: '409', declined: '409', fulfilled: '409', cancelled: 'no-op' },
};
const cases = Object.entries(table).flatMap(([from, outcomes]) =>
  Object.entries(outcomes).map(([to, outcome]) => [from as OrderStatus, to as Reached, outcome] as const),
);

describe('the status of an order', () => {
  it.each(cases)('%s to %s: %s', async (from, to, outcome) => {
    const { shop, id } = await orderIn(from);
    const params = { order_id: id };
    const before = await shop.client.catalogue.orders.get({ params });
    expect(before.status).toBe(from);
    const former = await eventsAbout(shop, id);
    platform.clock.advance(60_000);
    const response = await change(shop, id, actions[to]);
    const after = await shop.client.catalogue.orders.get({ params });
    const events = (await eventsAbout(shop, id)).slice(former.length);
    if (outcome === 'yes') {
      expect([response.status, response.body]).toEqual([200, after]);
      expect(after).toEqual({ ...before, status: to, updated_at: expect.any(String) });
      expect(Date.parse(after.updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at) + 60_000);
      expect(events).toEqual([
        expect.objectContaining({ type: `order.${to}`, data: { order: after, previous: { status: from } } }),
      ]);
    } else {
      expect([after, events]).toEqual([before, []]);
      if (outcome === 'no-op') expect(response).toMatchObject({ status: 200, body: before });
      else {
        const message = expect.stringContaining(`The order is ${from}`);
        expect(response).toMatchObject({ status: 409, body: { error: { code: 'invalid_state', message } } });
      }
    }
  });

  it('lists the possible statuses in a refusal', async () => {
    const { shop, id } = await orderIn('new');
    const { body } = await change(shop, id, 'fulfil');
    expect(body.error.message).toBe('The order is new; it can be confirmed, declined or cancelled, but not fulfilled');
    await change(shop, id, 'cancel');
    expect((await change(shop, id, 'confirm')).body.error.message).toBe(
      'The order is cancelled, which is final; it can no longer be confirmed',
    );
  });

  it('has one outcome if different changes race', async () => {
    const { shop, id } = await orderIn('confirmed');
    const raced = ['decline', 'fulfil', 'cancel', 'decline', 'fulfil', 'cancel'];
    const responses = await Promise.all(raced.map((action) => change(shop, id, action)));
    const { status } = await shop.client.catalogue.orders.get({ params: { order_id: id } });
    const winner = actions[status as Reached];
    expect(responses.map((response) => response.status)).toEqual(
      raced.map((action) => (action === winner ? 200 : 409)),
    );
    const types = (await eventsAbout(shop, id)).map(({ type }) => type);
    expect(types).toEqual(['order.created', 'order.confirmed', `order.${status}`]);
  });
});
