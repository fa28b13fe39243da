import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
}, 60_000);
afterAll(() => platform?.stop());

const composed = 'Zoë Ångström';

/** Stores one form of a string and searches for the other form. The found ids must equal the stored ids. */
type Way = (account: TestAccount, stored: string, asked: string) => Promise<[stored: unknown, found: unknown]>;

const contactsOf = async (account: TestAccount, query: object, client = account.client) =>
  (await client.cdp.contacts.list({ query })).data.map(({ id }) => id);
const statusOf = async (account: TestAccount, path: string, body: object) =>
  (await account.request('POST', path, { body })).status;
/** Simulates a message from a new sender. Returns the contact's id. */
async function inbound({ testKey, testClient, request }: TestAccount, body: object): Promise<string> {
  expect((await request('POST', '/v1/sandbox/inbound', { body, key: testKey })).status).toBe(202);
  return await waitFor('the contact', async () => (await testClient.cdp.contacts.list({})).data[0]?.id);
}

const ways: [string, Way][] = [
  [
    'an updated contact, by a part of its name',
    async (account, name, q) => {
      const { id } = await account.client.cdp.contacts.create({ body: { name: 'x' } });
      await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { name } });
      return [[id], await contactsOf(account, { q: q.slice(0, q.indexOf(' ')) })];
    },
  ],
  [
    'an upserted contact, by its external id in a path',
    async (account, stored, asked) => {
      const put = (external_id: string) =>
        account.client.cdp.contacts.upsertByExternalId({ params: { external_id }, body: { name: 'x' } });
      return [(await put(stored)).id, (await put(asked)).id];
    },
  ],
  [
    'a contact of a batch, by its tag',
    async (account, tag, asked) => {
      const { data } = await account.client.cdp.contacts.batch({ body: { contacts: [{ name: 'x', tags: [tag] }] } });
      return [data.map(({ id }) => id), await contactsOf(account, { tag: asked })];
    },
  ],
  [
    'the sender of a message, by name',
    async (account, name, q) => {
      const id = await inbound(account, { channel: 'whatsapp', from: '+4930901820', name, text: name });
      return [[id], await contactsOf(account, { q }, account.testClient)];
    },
  ],
  [
    'a repeated sender, by email',
    async (account, name, asked) => {
      const address = (form: string) => `${form.replace(' ', '.')}@example.com`;
      const id = await inbound(account, { channel: 'email', from: address(name), text: 'x' });
      return [[id], await contactsOf(account, { email: address(asked) }, account.testClient)];
    },
  ],
  [
    "a message, by the contact's name from another service",
    async (account, name, q) => {
      const { id: contact } = await account.testClient.cdp.contacts.create({ body: { name, phone: '+4930901801' } });
      const body = { contact, channels: [{ channel: 'sms' as const, body: 'x' }] };
      const { id } = await account.testClient.messages.send({ body });
      const { data } = await account.testClient.messages.list({ query: { q } });
      return [[id], data.map((message) => message.id)];
    },
  ],
  [
    'a product, by its unique SKU',
    async (account, sku, asked) => {
      const body = { name: 'x', price_minor: 1 };
      const { id } = await account.client.catalogue.products.create({ body: { ...body, sku } });
      const { data } = await account.client.catalogue.products.list({ query: { sku: asked } });
      const again = await statusOf(account, '/v1/catalogue/products', { ...body, sku: asked });
      return [
        [id, 400],
        [...data.map((product) => product.id), again],
      ];
    },
  ],
  ...(
    [
      ['/v1/agents/knowledge/collections', (name) => ({ name })],
      ['/v1/agents/knowledge/sources', (title) => ({ kind: 'article', title, body: 'x' })],
      [
        '/v1/cdp/audiences',
        (name) => ({ name, rules: { match: 'all', conditions: [{ type: 'tag', op: 'has', tag: 'x' }] } }),
      ],
    ] satisfies [string, (name: string) => object][]
  ).map(([path, body]): [string, Way] => [
    `a unique name of ${path}`,
    async (account, stored, asked) => [
      [201, 400],
      [await statusOf(account, path, body(stored)), await statusOf(account, path, body(asked))],
    ],
  ]),
  [
    'an uploaded file, by its name',
    async (account, stored) => {
      const body = new FormData();
      body.append('file', new File([stored], `${stored}.txt`));
      const headers = { authorization: `Bearer ${account.key}` };
      const url = `${platform.gatewayUrl}/v1/agents/knowledge/files`;
      const made = await (await fetch(url, { method: 'POST', headers, body })).json();
      return [{ title: `${composed}.txt` }, { title: (made as { title: string }).title }];
    },
  ],
  [
    'a member, by the email in a path',
    async (account, stored, asked) => {
      const address = (form: string) => `${form.replace(' ', '.')}@example.com`;
      await account.client.members.add({ body: { name: stored, email: address(stored) } });
      const { email } = await account.client.calendar.staff.create({ body: { email: address(asked) } });
      const found = await account.client.calendar.staff.get({ params: { email: address(stored) } });
      return [
        [email, composed],
        [found.email, found.name],
      ];
    },
  ],
  [
    "an account, by a part of its name in an operator's list",
    async (_, name, asked) => {
      const { body } = await platform.admin('POST', '/admin/accounts', { name });
      const { body: list } = await platform.admin('GET', `/admin/accounts?q=${encodeURIComponent(asked.slice(0, 4))}`);
      return [
        [body.id, composed],
        [list.data[0]?.id, list.data[0]?.name],
      ];
    },
  ],
];

describe.each<[string, string, string]>([
  ['NFD', 'NFD', 'NFC'],
  ['NFC', 'NFC', 'NFD'],
])('a string in %s is found in the other form:', (_, stored, asked) => {
  it.each(ways)('%s', async (__, way) => {
    const [given, found] = await way(await platform.account(), composed.normalize(stored), composed.normalize(asked));
    expect(found).toEqual(given);
  });
});
