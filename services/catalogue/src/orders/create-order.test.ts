import { randomUUID } from 'node:crypto';
import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openShop, refusal, something } from '../../test/catalogue.ts';

const platform = await startPlatform({ services: ['cdp', 'catalogue'] });
afterAll(() => platform.stop());

const most = Number.MAX_SAFE_INTEGER;

describe('an order', () => {
  it('shows its contact, its lines in order and its total, and emits an event', async () => {
    const { account, client, contact, order, product } = await openShop(platform);
    const tea = await product({ sku: 'TEA', name: 'Tea', price_minor: 450 });
    const items = [
      { sku: 'TEA', quantity: 3 },
      { sku: 'ENGRAVING', quantity: 1, name: 'Engraving', unit_price_minor: 0 },
      { sku: 'TEA', quantity: 1, name: 'Tea, as a gift', unit_price_minor: 100 },
    ];
    const made = await order({ items, note: 'Please ring' });
    expect(made).toEqual({
      id: expect.any(String),
      number: 1,
      status: 'new',
      source: 'api',
      channel: 'whatsapp',
      contact: { id: contact.id, name: 'Carla Client', phone: '+4930901820' },
      items: [
        { product: tea.id, sku: 'TEA', name: 'Tea', quantity: 3, unit_price_minor: 450 },
        { product: null, sku: 'ENGRAVING', name: 'Engraving', quantity: 1, unit_price_minor: 0 },
        { product: tea.id, sku: 'TEA', name: 'Tea, as a gift', quantity: 1, unit_price_minor: 100 },
      ],
      total_minor: 1_450,
      currency: 'EUR',
      note: 'Please ring',
      created_at: expect.stringMatching(/^\d{4}-.*[+-]\d{2}:\d{2}$/),
      updated_at: made.created_at,
    });
    expect(await client.catalogue.orders.get({ params: { order_id: made.id } })).toEqual(made);
    const event = await platform.event(account.id, 'order.created');
    expect(event).toMatchObject({ mode: 'live', timestamp: made.created_at });
    expect(event.data).toEqual({ order: made });
  });

  it('keeps its lines when the product changes', async () => {
    const { client, order, product } = await openShop(platform);
    const { id } = await product({ sku: 'TEA', name: 'Tea', price_minor: 450 });
    const made = await order({ items: [{ sku: 'TEA', quantity: 1 }] });
    const params = { product_id: id };
    await client.catalogue.products.update({
      params,
      body: { name: 'New', price_minor: 1, sku: 'NEW', currency: 'USD' },
    });
    expect(await client.catalogue.orders.get({ params: { order_id: made.id } })).toEqual(made);
    await client.catalogue.products.delete({ params });
    expect(await client.catalogue.orders.get({ params: { order_id: made.id } })).toEqual(made);
    expect((await client.catalogue.orders.list()).data).toEqual([made]);
  });

  it('has the channel whatsapp if the contact has a phone, else email, or the given channel', async () => {
    const { client, order } = await openShop(platform);
    expect((await order()).channel).toBe('whatsapp');
    const { id } = await client.cdp.contacts.create({ body: { name: 'No phone' } });
    const made = await order({ contact: id });
    expect([made.channel, made.contact]).toEqual(['email', { id, name: 'No phone', phone: '' }]);
    for (const channel of ['whatsapp', 'sms', 'email'] as const) {
      expect((await order({ contact: id, channel })).channel).toBe(channel);
    }
  });

  it("is in the account's currency or the given one, and products in another currency are refused", async () => {
    const { order, product, tryOrder } = await openShop(platform, { currency: 'CHF' });
    await product({ sku: 'TEA' });
    await product({ sku: 'CUP', currency: 'USD' });
    const [tea, cup] = [
      { sku: 'TEA', quantity: 1 },
      { sku: 'CUP', quantity: 1, unit_price_minor: 1, name: 'Cup' },
    ];
    expect((await order({ items: [tea, something] })).currency).toBe('CHF');
    expect((await order({ items: [cup, something], currency: 'USD' })).currency).toBe('USD');
    const message = 'items[1].sku is priced in USD; an order in CHF';
    expect(await tryOrder({ items: [tea, cup] })).toMatchObject(refusal('items', message));
    expect(await tryOrder({ items: [tea], currency: 'USD' })).toMatchObject(
      refusal('items', 'items[0].sku is priced in CHF'),
    );
  });

  it('refuses a product that is switched off, and an unknown SKU without name and price', async () => {
    const { product, tryOrder } = await openShop(platform);
    await product({ sku: 'OFF', active: false });
    const off = { sku: 'OFF', quantity: 1, name: 'Off', unit_price_minor: 1 };
    expect(await tryOrder({ items: [something, off] })).toMatchObject(refusal('items', 'items[1].sku must be'));
    const unknown = { sku: 'NEW', quantity: 1 };
    const cases: [unknown, string][] = [
      [unknown, 'items[0].name is required'],
      [{ ...unknown, unit_price_minor: 1 }, 'items[0].name is required'],
      [{ ...unknown, name: 'New' }, 'items[0].unit_price_minor is required'],
    ];
    for (const [item, message] of cases) {
      expect(await tryOrder({ items: [item] })).toMatchObject(refusal('items', message));
    }
  });

  it('accepts every SKU and name unchanged', async () => {
    const { order, product } = await openShop(platform);
    const texts = ['NULL', 'a"b\\c', '{}', '{a,b}', "it's", '%_', 'ÄÖ😀', ' spaces ', 'line\nbreak'];
    for (const sku of texts) await product({ sku, name: `name ${sku}` });
    const made = await order({ items: texts.map((sku) => ({ sku, quantity: 1 })) });
    expect(made.items.map(({ sku, name }) => [sku, name])).toEqual(texts.map((sku) => [sku, `name ${sku}`]));
    expect(made.items.every(({ product: id }) => id !== null)).toBe(true);
    const unknown = texts.map((sku) => ({ ...something, sku: `unknown ${sku}`, name: sku }));
    expect((await order({ items: unknown })).items).toEqual(unknown.map((item) => ({ product: null, ...item })));
  });

  it.each<[string, Record<string, unknown>[], Record<string, unknown>[]]>([
    [
      'items',
      [
        { items: [{ ...something, quantity: 1 }] },
        { items: [{ ...something, quantity: 9_999 }] },
        { items: Array(100).fill(something) },
        { items: [{ ...something, sku: '😀'.repeat(100), name: '😀'.repeat(200) }] },
      ],
      [
        { items: [{ ...something, quantity: 0 }] },
        { items: [{ ...something, quantity: 10_000 }] },
        { items: [{ ...something, quantity: 1.5 }] },
        { items: [{ ...something, quantity: undefined }] },
        { items: [] },
        { items: Array(101).fill(something) },
        { items: undefined },
        { items: [{ ...something, sku: '' }] },
        { items: [{ ...something, sku: 'x'.repeat(101) }] },
        { items: [{ ...something, name: '' }] },
        { items: [{ ...something, name: 'x'.repeat(201) }] },
        { items: [{ ...something, unit_price_minor: -1 }] },
      ],
    ],
    [
      'note',
      [{ note: 'x'.repeat(1_000) }, { note: '😀'.repeat(1_000) }],
      [{ note: 'x'.repeat(1_001) }, { note: '😀'.repeat(1_001) }],
    ],
    ['channel', [{ channel: 'sms' }], [{ channel: 'fax' }]],
    ['currency', [{ currency: 'JPY' }], [{ currency: 'jpy' }, { currency: 'EURO' }]],
  ])('accepts %s up to its limits, and refuses values beyond them', async (field, right, wrong) => {
    const { tryOrder, client } = await openShop(platform);
    for (const body of right) expect(await tryOrder(body)).toMatchObject({ status: 201, body });
    for (const body of wrong) expect([body, await tryOrder(body)]).toMatchObject([body, refusal(field)]);
    expect((await client.catalogue.orders.list()).data).toHaveLength(right.length);
  });

  it('totals at most 2^53 - 1, computed exactly', async () => {
    const { order, product, tryOrder, client } = await openShop(platform);
    await product({ sku: 'ALL', price_minor: most });
    const single = await order({ items: [{ sku: 'ALL', quantity: 1 }] });
    expect([single.total_minor, single.items[0]!.unit_price_minor]).toEqual([most, most]);
    expect(await client.catalogue.orders.get({ params: { order_id: single.id } })).toEqual(single);
    const fitting = Math.floor(most / 9_999);
    const rest = most - fitting * 9_999;
    const full = [
      { ...something, quantity: 9_999, unit_price_minor: fitting },
      { ...something, quantity: 1, unit_price_minor: rest },
    ];
    expect((await order({ items: full })).total_minor).toBe(most);
    for (const items of [
      [...full, { ...something, quantity: 1, unit_price_minor: 1 }],
      [{ sku: 'ALL', quantity: 2 }],
      [{ ...something, quantity: 9_999, unit_price_minor: most }],
    ]) {
      expect(await tryOrder({ items })).toMatchObject(refusal('items', `at most ${most}`));
    }
  });

  it('is refused for a contact that is not of this account', async () => {
    const { client, contact, tryOrder } = await openShop(platform);
    const stranger = await openShop(platform);
    for (const id of [stranger.contact.id, randomUUID(), 'none', undefined]) {
      expect(await tryOrder({ contact: id })).toMatchObject(refusal('contact'));
    }
    expect(await tryOrder({ contact: contact.id.toUpperCase() })).toMatchObject({ status: 201 });
    expect((await client.catalogue.orders.list()).data).toHaveLength(1);
  });
});

it('fifty concurrent orders get the numbers 1 to 50, even if others among them are refused', async () => {
  const { account, order, tryOrder } = await openShop(platform);
  const orders = Array.from({ length: 50 }, () => order());
  const refused = Array.from({ length: 10 }, () => tryOrder({ items: [{ sku: 'UNKNOWN', quantity: 1 }] }));
  const numbers = (await Promise.all(orders)).map(({ number }) => number);
  expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  expect((await Promise.all(refused)).every(({ status }) => status === 400)).toBe(true);
  const listed = (await account.client.catalogue.orders.list({ query: { limit: 100 } })).data;
  expect(listed.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, index) => 50 - index));
});
