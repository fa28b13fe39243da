import { randomUUID } from 'node:crypto';
import type { ListOrdersQuery } from '@customer-platform/client';
import type { Order } from '@customer-platform/contracts/catalogue';
import { busOf, pagesOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { mergeContact, openShop, refusal, type Shop, something } from '../../test/catalogue.ts';

const platform = await startPlatform({ services: ['cdp', 'catalogue'] });
afterAll(() => platform.stop());

const numbers = async (shop: Shop, query: ListOrdersQuery) =>
  (await shop.client.catalogue.orders.list({ query })).data.map(({ number }) => number);

describe('the list of orders', () => {
  it('is newest first, each order as GET returns it', async () => {
    const shop = await openShop(platform);
    const made: Order[] = [];
    for (let count = 1; count <= 3; count += 1) {
      const items = Array.from({ length: count }, (_, index) => ({ ...something, sku: `${count}-${index}` }));
      made.unshift(await shop.order({ items }));
    }
    expect(await shop.client.catalogue.orders.list()).toEqual({ data: made, has_more: false, next: null });
  });

  it('ends a page early if orders have very many long lines, and all pages together are complete', async () => {
    const shop = await openShop(platform);
    const line = { ...something, sku: 'ä'.repeat(100), name: 'ä'.repeat(200) };
    const { id } = await shop.order({ items: Array.from({ length: 100 }, () => line) });
    await platform.database('catalogue')`
      with made as (
        insert into orders (account_id, number, status, source, channel, contact_id, total_minor, currency, note, created_at, updated_at)
        select account_id, number + more, status, source, channel, contact_id, total_minor, currency, note, created_at, updated_at
        from orders cross join generate_series(1, 39) as more where account_id = ${shop.account.id} and id = ${id}
        returning account_id, id
      )
      insert into order_lines (account_id, order_id, position, product_id, sku, name, quantity, unit_price_minor)
      select made.account_id, made.id, position, product_id, sku, name, quantity, unit_price_minor
      from made join order_lines l on l.account_id = made.account_id and l.order_id = ${id}`;
    for (const filter of [{}, { contact: shop.contact.id }, { updated_since: '2000-01-01T00:00:00Z' }]) {
      const { data, sizes } = await pagesOf((query) =>
        shop.client.catalogue.orders.list({ query: { ...query, ...filter } }),
      );
      const first = data.at('updated_since' in filter ? 0 : -1)!;
      expect([data.length, new Set(data.map((one) => one.id)).size, first.id]).toEqual([40, 40, id]);
      expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
    }
  });

  it('is filtered by status, source and contact, and by several at once', async () => {
    const shop = await openShop(platform);
    const other = await shop.client.cdp.contacts.create({ body: { name: 'Other' } });
    const orders: Order[] = [];
    for (let index = 0; index < 6; index += 1) {
      orders.push(await shop.order(index % 2 === 0 ? {} : { contact: other.id }));
    }
    for (const index of [0, 1, 2])
      await shop.client.catalogue.orders.confirm({ params: { order_id: orders[index]!.id } });
    const sql = platform.database('catalogue');
    const carts = [orders[2]!.id, orders[3]!.id];
    await sql`update orders set source = 'cart' where account_id = ${shop.account.id} and id = any(${carts}::uuid[])`;
    expect(await numbers(shop, { status: 'confirmed' })).toEqual([3, 2, 1]);
    expect(await numbers(shop, { status: 'fulfilled' })).toEqual([]);
    expect(await numbers(shop, { source: 'cart' })).toEqual([4, 3]);
    expect(await numbers(shop, { source: 'api' })).toEqual([6, 5, 2, 1]);
    expect(await numbers(shop, { contact: other.id })).toEqual([6, 4, 2]);
    expect(await numbers(shop, { status: 'confirmed', source: 'cart' })).toEqual([3]);
    expect(await numbers(shop, { status: 'new', contact: shop.contact.id })).toEqual([5]);
    expect(await numbers(shop, { status: 'new', source: 'cart', contact: other.id })).toEqual([4]);
    expect(await numbers(shop, { source: 'api', limit: 1, starting_after: orders[4]!.id })).toEqual([2]);
  });

  it('neither repeats nor skips an order while others are added between pages', async () => {
    const shop = await openShop(platform);
    for (let count = 0; count < 7; count += 1) await shop.order();
    const seen: number[] = [];
    let next: string | null = null;
    do {
      const page = await shop.client.catalogue.orders.list({
        query: { limit: 2, ...(next ? { starting_after: next } : {}) },
      });
      seen.push(...page.data.map(({ number }) => number));
      await shop.order();
      next = page.next;
    } while (next);
    expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1]);
  });

  it('refuses filters and cursors that are not of this account', async () => {
    const shop = await openShop(platform);
    const stranger = await openShop(platform);
    const foreign = await stranger.order();
    const wrong: [string, string][] = [
      ['status', 'open'],
      ['source', 'shop'],
      ['contact', stranger.contact.id],
      ['contact', randomUUID()],
      ['contact', 'x'],
      ['starting_after', foreign.id],
    ];
    for (const [field, value] of wrong) {
      const response = await shop.account.request('GET', `/v1/catalogue/orders?${field}=${value}`);
      expect([field, response]).toMatchObject([field, refusal(field)]);
    }
  });
});

describe('the contact of an order', () => {
  it('is the survivor after a merge, in responses, filters and new orders', async () => {
    const shop = await openShop(platform);
    const { id } = await shop.order();
    const bus = await busOf(platform, 'cdp');
    const survivor = await mergeContact(bus, shop);
    await bus.close();
    const shown = async () => (await shop.client.catalogue.orders.get({ params: { order_id: id } })).contact;
    await waitFor('the merge', async () => (await shown()).id === survivor.id);
    const expected = { id: survivor.id, name: 'Survivor', phone: '' };
    expect(await shown()).toEqual(expected);
    const after = await shop.order();
    expect([after.contact, after.channel]).toEqual([expected, 'email']);
    for (const contact of [shop.contact.id, survivor.id]) {
      const { data } = await shop.client.catalogue.orders.list({ query: { contact } });
      expect(data.map((order) => [order.number, order.contact])).toEqual([
        [2, expected],
        [1, expected],
      ]);
    }
    const { order } = (await platform.event(shop.account.id, 'order.created', (data) => data.order.number === 2)).data;
    expect(order).toEqual(after);
  });

  it('is still shown after it is deleted, and can no longer order', async () => {
    const shop = await openShop(platform);
    const made = await shop.order();
    await shop.client.cdp.contacts.delete({ params: { contact_id: shop.contact.id } });
    await waitFor('the contact to be gone', async () => {
      const { status, body } = await shop.tryOrder({});
      return status === 400 && body.error.field === 'contact';
    });
    expect(await shop.client.catalogue.orders.get({ params: { order_id: made.id } })).toEqual(made);
  });
});
