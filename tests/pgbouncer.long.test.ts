import { randomBytes } from 'node:crypto';
import { databaseUrl, provision, roleUrl } from '@customer-platform/deploy/provision';
import { startService } from '@customer-platform/service-kit';
import { type Platform, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { type Pooler, startPooler } from '@customer-platform/testkit/pgbouncer';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import postgres from 'postgres';
import { retryingClient } from './setup.ts';

let pooler: Pooler;
let platform: Platform;

beforeAll(async () => {
  pooler = await startPooler();
  platform = await startPlatform({ databaseEnv: pooler.databaseEnv });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await pooler?.stop();
});

it('serves a customer in every module, with more concurrent requests than connections', async () => {
  const { key } = await platform.account();
  // An overloaded service may be too slow for another service: the client gets 503 and retries.
  const client = retryingClient(platform.gatewayUrl, key);
  const receiver = await startReceiver();
  try {
    await client.webhooks.create({ body: { url: receiver.url, events: ['*'] } });
    const made = await Promise.all(
      Array.from({ length: 60 }, async (_none, index) => {
        const contact = await client.cdp.contacts.create({
          body: { name: `Ada ${index}`, external_id: `ada-${index}` },
        });
        await client.crm.deals.create({ body: { title: 'Tea', contact: contact.id } });
        await client.catalogue.orders.create({
          body: { contact: contact.id, items: [{ sku: 'tea', name: 'Tea', quantity: 1, unit_price_minor: 450 }] },
        });
        return contact.id;
      }),
    );
    const seen = (type: string) => receiver.received.filter(({ body }) => JSON.parse(body).type === type).length;
    for (const type of ['contact.created', 'deal.created', 'order.created']) {
      await waitFor(`${type} of each`, () => seen(type) >= made.length);
    }
    const { data } = await client.cdp.contacts.list({ query: { q: 'Ada 59' } });
    expect(data.map(({ id }) => id)).toEqual([made[59]]);
  } finally {
    await receiver.stop();
  }
}, 120_000);

it("runs work that takes longer than a request: audiences, and duplicates with a transaction's temporary table", async () => {
  const { client } = await platform.account();
  const [older, newer] = [
    await client.cdp.contacts.create({ body: { phone: '030 901820', tags: ['vip'] } }),
    await client.cdp.contacts.create({ body: { phone: '+49 30 901820' } }),
  ];
  const rules = { match: 'all' as const, conditions: [{ type: 'tag' as const, op: 'has' as const, tag: 'vip' }] };
  const { id } = await client.cdp.audiences.create({ body: { name: 'VIPs', rules } });
  const audience = { params: { audience_id: id } };
  await waitFor('the audience', async () => (await client.cdp.audiences.get(audience)).status === 'ready');
  expect((await client.cdp.audiences.get(audience)).members).toBe(1);
  await client.cdp.duplicates.find({});
  const pairs = await waitFor('the pair', async () => {
    const { data } = await client.cdp.duplicates.list({});
    return data.length > 0 ? data : undefined;
  });
  expect(pairs.map(({ contacts }) => contacts.map((each) => each.id).sort())).toEqual([[older.id, newer.id].sort()]);
}, 60_000);

it('does not start if the role lacks its settings, or migrations cannot bypass the pooler', async () => {
  const { crm } = (await import('@customer-platform/crm' as string)) as { crm: Parameters<typeof startService>[0] };
  const env = platform.env('crm');
  await expect(startService(crm, { ...env, DATABASE_DIRECT_URL: '' })).rejects.toThrow(
    /DATABASE_DIRECT_URL: is required/,
  );
  const server = process.env.TEST_DATABASE_URL!;
  const database = `test_pooled_${randomBytes(6).toString('hex')}`;
  await provision(server, { database, roles: [{ name: 'crm', password: 'test-only' }] });
  const admin = postgres(server, { max: 1 });
  await admin.unsafe(`alter role platform_crm in database ${database} reset statement_timeout`);
  await admin.end();
  const direct = roleUrl(databaseUrl(server, database), 'crm', 'test-only');
  const other = { ...env, DATABASE_DIRECT_URL: direct, DATABASE_URL: pooler.urlOf(direct), BUS_PREFIX: database };
  await expect(startService(crm, other)).rejects.toThrow(
    /statement_timeout = 5000, which a pooler does not pass on: run provision again/,
  );
}, 60_000);
