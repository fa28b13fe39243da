import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openShop } from '../test/catalogue.ts';

const platform = await startPlatform({ services: ['cdp', 'catalogue'] });
afterAll(() => platform.stop());

describe('the Catalogue service', () => {
  it('handles each operation exactly as its contract says', async () => {
    const { client, contact } = await openShop(platform); // validates every response against the contract
    const product = await client.createProduct({ body: { sku: 'TEA', name: 'Tea', price_minor: 450 } });
    const productPath = { product_id: product.id };
    expect(await client.getProduct({ params: productPath })).toEqual(product);
    await client.updateProduct({ params: productPath, body: { name: 'Green tea' } });
    expect((await client.listProducts()).data).toEqual([{ ...product, name: 'Green tea' }]);
    const body = { contact: contact.id, items: [{ sku: 'TEA', quantity: 2 }] };
    const order = await client.createOrder({ body });
    const params = { order_id: order.id };
    expect(await client.getOrder({ params })).toEqual(order);
    expect((await client.confirmOrder({ params })).status).toBe('confirmed');
    expect((await client.fulfilOrder({ params })).status).toBe('fulfilled');
    const declined = await client.createOrder({ body });
    expect((await client.declineOrder({ params: { order_id: declined.id } })).status).toBe('declined');
    const cancelled = await client.createOrder({ body });
    expect((await client.cancelOrder({ params: { order_id: cancelled.id } })).status).toBe('cancelled');
    const { data } = await client.listOrders();
    expect(data.map(({ status }) => status)).toEqual(['cancelled', 'declined', 'fulfilled']);
    await client.deleteProduct({ params: productPath });
    expect((await client.listProducts()).data).toEqual([]);
  });
});
