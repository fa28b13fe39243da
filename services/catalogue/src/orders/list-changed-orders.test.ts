import type { Order } from '@customer-platform/contracts/catalogue';
import { listDuringWrite, startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openShop, refusal, type Shop } from '../../test/catalogue.ts';

const platform = await startPlatform({ services: ['cdp', 'catalogue'] });
const sql = platform.database('catalogue');
afterAll(() => platform.stop());

type Query = Record<string, string | number>;
const list = ({ account }: Shop, query: Query) =>
  account.request('GET', `/v1/catalogue/orders?${new URLSearchParams(query as Record<string, string>)}`);
const numbers = async (shop: Shop, query: Query) =>
  (await list(shop, query)).body.data.map(({ number }: Order) => number);
const byChange = (a: Order, b: Order) => (`${a.updated_at} ${a.id}` < `${b.updated_at} ${b.id}` ? -1 : 1);
const long = '2000-01-01T00:00:00Z';

/** Creates orders one second apart. */
async function orders(shop: Shop, count: number): Promise<Order[]> {
  const made: Order[] = [];
  for (let index = 0; index < count; index += 1) {
    platform.clock.advance(1_000);
    made.push(await shop.order());
  }
  platform.clock.advance(1_000);
  return made;
}

describe('the list of orders by updated_since', () => {
  it('returns changes at that time or later, least recently changed first, each as GET returns it', async () => {
    const shop = await openShop(platform, { timezone: 'Europe/Berlin' });
    const [first, second, third] = (await orders(shop, 3)) as [Order, Order, Order];
    const confirmed = await shop.client.catalogue.orders.confirm({ params: { order_id: first.id } });
    expect((await list(shop, { updated_since: second.updated_at })).body).toEqual({
      data: [second, third, confirmed],
      has_more: false,
      next: null,
    });
    const after = new Date(Date.parse(second.updated_at) + 1).toISOString();
    expect(await numbers(shop, { updated_since: after })).toEqual([3, 1]);
    expect(await numbers(shop, { updated_since: long, starting_after: second.id })).toEqual([3, 1]);
  });

  it('is filtered by status, source and contact, and by several at once', async () => {
    const shop = await openShop(platform);
    const other = await shop.client.cdp.contacts.create({ body: { name: 'Other' } });
    const made: Order[] = [];
    for (let index = 0; index < 6; index += 1)
      made.push(await shop.order(index % 2 === 0 ? {} : { contact: other.id }));
    for (const index of [2, 1, 0])
      await shop.client.catalogue.orders.confirm({ params: { order_id: made[index]!.id } });
    const carts = [made[2]!.id, made[3]!.id];
    await sql`update orders set source = 'cart' where account_id = ${shop.account.id} and id = any(${carts}::uuid[])`;
    const found = (query: Query) => numbers(shop, { updated_since: made[3]!.updated_at, ...query });
    expect(await found({})).toEqual([4, 5, 6, 3, 2, 1]);
    expect(await found({ status: 'confirmed' })).toEqual([3, 2, 1]);
    expect(await found({ source: 'cart' })).toEqual([4, 3]);
    expect(await found({ contact: other.id })).toEqual([4, 6, 2]);
    expect(await found({ status: 'new', contact: shop.contact.id })).toEqual([5]);
    expect(await found({ status: 'confirmed', source: 'cart', contact: shop.contact.id })).toEqual([3]);
    expect(await list(shop, { updated_since: '2026-06-01' })).toMatchObject(refusal('updated_since'));
  });

  it('pages consistently while orders change, so that a mirror becomes complete', async () => {
    const shop = await openShop(platform);
    const made = await orders(shop, 7);
    const mirror = new Map<string, Order>();
    const confirm = (order: Order) =>
      shop.account.request('POST', `/v1/catalogue/orders/${order.id}/confirm`, { body: {} });
    let since = long;
    for (const isQuiet of [false, true]) {
      for (let next: string | null = ''; next !== null; ) {
        const query: Query = { updated_since: since, limit: 2, ...(next === '' ? {} : { starting_after: next }) };
        const { body } = await list(shop, query);
        for (const order of body.data) mirror.set(order.id, order);
        next = body.next;
        since = body.data.at(-1).updated_at;
        if (isQuiet || mirror.size > 6) continue;
        // Changes the page's last order, which is the cursor, and the order that is listed last.
        await confirm(body.data.at(-1));
        await confirm(made.at(-1)!);
        await shop.order();
      }
    }
    expect([...mirror.values()].toSorted(byChange)).toEqual(
      (await shop.client.catalogue.orders.list()).data.toSorted(byChange),
    );
    expect(mirror.size).toBeGreaterThan(9);
  });

  it('misses no change that began before it and commits after it', async () => {
    const shop = await openShop(platform);
    const params = { order_id: (await shop.order()).id };
    const confirm = () => shop.client.catalogue.orders.confirm({ params });
    const { changed, listed } = await listDuringWrite(sql, confirm, () => list(shop, { updated_since: long }));
    expect(listed.body.data).toEqual([changed]);
  });

  it('never places a change before its position, even from a process with a slow clock', async () => {
    const shop = await openShop(platform);
    const { id } = await shop.order();
    const other = await shop.order();
    const third = await shop.order();
    const act = (order: string, action: string) =>
      shop.account.request('POST', `/v1/catalogue/orders/${order}/${action}`, { body: {} });
    const changes: Record<string, () => Promise<unknown>> = {
      'a new order': () => shop.order(),
      confirm: () => act(id, 'confirm'),
      fulfil: () => act(id, 'fulfil'),
      decline: () => act(other.id, 'decline'),
      cancel: () => act(third.id, 'cancel'),
    };
    const now = platform.clock.now();
    try {
      for (const [name, change] of Object.entries(changes)) {
        platform.clock.set(now);
        const before = (await list(shop, { updated_since: long })).body.data as Order[];
        platform.clock.set(new Date(now.getTime() - 3_600_000));
        await change();
        const after = (await list(shop, { updated_since: before.at(-1)!.updated_at })).body.data as Order[];
        const [latest] = after.slice(-1);
        expect([name, after.length > 0, before]).toEqual([name, true, expect.not.arrayContaining([latest])]);
        expect([name, await shop.client.catalogue.orders.get({ params: { order_id: latest!.id } })]).toEqual([
          name,
          latest,
        ]);
      }
    } finally {
      platform.clock.set(now);
    }
  });
});
