import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openShop, refusal } from '../../test/catalogue.ts';

const platform = await startPlatform({ services: ['cdp', 'catalogue'] });
afterAll(() => platform.stop());

const path = '/v1/catalogue/products';
const notFound = { status: 404, body: { error: { code: 'not_found' } } };

describe('a product', () => {
  it('gets default values, and accepts values up to their limits in code points', async () => {
    const { client } = await openShop(platform, { currency: 'CHF' });
    const body = { sku: 'TEA', name: 'Tea', price_minor: 0 };
    const made = await client.catalogue.products.create({ body });
    expect(made).toEqual({ id: expect.any(String), ...body, currency: 'CHF', active: true });
    const longest = { sku: '😀'.repeat(100), name: '😀'.repeat(200) };
    const other = { price_minor: 9_007_199_254_740_991, currency: 'USD', active: false, ...longest };
    const { id } = await client.catalogue.products.create({ body: other });
    for (const currency of ['USD', 'VED', 'UYW', 'CLF', 'MXV', 'XCG', 'XAD', 'XAU'])
      expect(await client.catalogue.products.update({ params: { product_id: id }, body: { currency } })).toMatchObject({
        ...other,
        currency,
      });
  });

  it.each<[string, unknown[]]>([
    ['sku', ['', '😀'.repeat(101), undefined, null, 7]],
    ['name', ['', 'x'.repeat(201), undefined, null]],
    ['price_minor', [-1, 1.5, 9_007_199_254_740_992, '1', undefined, null]],
    ['currency', ['eur', 'EURO', '', 'DEM', 'XXX', 'XTS']],
    ['active', ['yes', 1]],
  ])('is refused with a wrong %s, on creation and on update', async (field, values) => {
    const { account, product } = await openShop(platform);
    const { id } = await product({ sku: 'TEA' });
    for (const value of values) {
      const body = { sku: 'CUP', name: 'Cup', price_minor: 1, [field]: value };
      expect([value, await account.request('POST', path, { body })]).toMatchObject([value, refusal(field)]);
      if (value === undefined) continue;
      const changed = await account.request('PATCH', `${path}/${id}`, { body: { [field]: value } });
      expect([value, changed]).toMatchObject([value, refusal(field)]);
    }
    expect((await account.request('GET', path)).body.data).toHaveLength(1);
  });

  it('has a SKU that is unique in its account, compared exactly', async () => {
    const { account, product } = await openShop(platform);
    await product({ sku: 'Tea' });
    for (const sku of ['tea', 'Tea ', 'Téa']) await product({ sku });
    const body = { sku: 'Tea', name: 'Another', price_minor: 1 };
    expect(await account.request('POST', path, { body })).toMatchObject(refusal('sku'));
    const other = await product({ sku: 'Other' });
    expect(await account.request('PATCH', `${path}/${other.id}`, { body: { sku: 'Tea' } })).toMatchObject(
      refusal('sku'),
    );
    expect((await account.request('GET', `${path}/${other.id}`)).body).toEqual(other);
    await (await openShop(platform)).product({ sku: 'Tea' });
  });

  it('is created once by concurrent requests for one SKU', async () => {
    const { account, product } = await openShop(platform);
    const body = { sku: 'TEA', name: 'Tea', price_minor: 1 };
    const made = await Promise.all(Array.from({ length: 10 }, () => account.request('POST', path, { body })));
    expect(made.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(400)]);
    const [one, two] = [await product({ sku: 'ONE' }), await product({ sku: 'TWO' })];
    const change = (id: string) => account.request('PATCH', `${path}/${id}`, { body: { sku: 'THREE' } });
    const changed = await Promise.all([change(one.id), change(two.id)]);
    expect(changed.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('is changed only in the given fields', async () => {
    const { client, product } = await openShop(platform);
    const made = await product({ sku: 'TEA' });
    const params = { product_id: made.id };
    for (const body of [{}, { sku: 'TEA' }, { name: made.name, active: true }]) {
      expect(await client.catalogue.products.update({ params, body })).toEqual(made);
    }
    const changes = [
      { name: 'Green tea' },
      { price_minor: 7 },
      { currency: 'USD' },
      { active: false },
      { sku: 'GREEN' },
    ];
    let expected = made;
    for (const body of changes) {
      expected = { ...expected, ...body };
      expect(await client.catalogue.products.update({ params, body })).toEqual(expected);
      expect(await client.catalogue.products.get({ params })).toEqual(expected);
    }
  });

  it('is gone after it is deleted, and its SKU is free again', async () => {
    const { account, product } = await openShop(platform);
    const { id } = await product({ sku: 'TEA' });
    expect(await account.request('DELETE', `${path}/${id}`)).toMatchObject({ status: 204, text: '' });
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      expect(await account.request(method, `${path}/${id}`)).toMatchObject(notFound);
    }
    await product({ sku: 'TEA' });
  });
});

it('the list of products is newest first, in pages that neither repeat nor skip while more are added', async () => {
  const [{ client, product }, stranger] = [await openShop(platform), await openShop(platform)];
  const made: string[] = [];
  for (let index = 0; index < 7; index += 1) made.unshift((await product({ sku: `S${index}` })).id);
  const seen: string[] = [];
  let next: string | null = null;
  do {
    const page = await client.catalogue.products.list({
      query: { limit: 3, ...(next ? { starting_after: next } : {}) },
    });
    seen.push(...page.data.map(({ id }) => id));
    await product({ sku: `between ${seen.length}` });
    next = page.next;
    expect(page.has_more).toBe(next !== null);
  } while (next);
  expect(seen).toEqual(made);
  const foreign = await stranger.account.request('GET', `${path}?starting_after=${made[0]}`);
  expect(foreign).toMatchObject(refusal('starting_after'));
});

it('the list of products filtered by SKU returns the exact match or nothing', async () => {
  const [{ client, product }, stranger] = [await openShop(platform), await openShop(platform)];
  for (const sku of ['TEA', 'tea', 'Téa', 'TEA 2']) await product({ sku });
  await stranger.product({ sku: 'Own' });
  const found = async (sku: string) =>
    (await client.catalogue.products.list({ query: { sku } })).data.map((one) => one.sku);
  // The last SKU has 'é' as two code points.
  for (const [sku, expected] of [
    ['TEA', 'TEA'],
    ['tea', 'tea'],
    ['Te\u0301a', 'Téa'],
  ] as const)
    expect([sku, await found(sku)]).toEqual([sku, [expected]]);
  for (const sku of ['Tea', 'TE', 'TEA%', 'Own', '']) expect([sku, await found(sku)]).toEqual([sku, []]);
});
