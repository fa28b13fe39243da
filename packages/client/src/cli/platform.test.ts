import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openTool, type Tool } from '../../test/tool.ts';
import { createClient, verifyWebhook } from '../index.ts';

let platform: Platform;
let hook: Receiver;
const tools: Tool[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  hook = await startReceiver();
});
afterAll(async () => {
  for (const tool of tools) tool.remove();
  await hook?.stop();
  await platform?.stop();
});

/** Returns the tool with an account's key. */
function toolOf(key: string): Tool {
  const tool = openTool({ CUSTOMER_PLATFORM_URL: platform.gatewayUrl, CUSTOMER_PLATFORM_KEY: key });
  tools.push(tool);
  return tool;
}

describe('the command line, against the platform', () => {
  it('sends any request, and shows errors', async () => {
    const account = await platform.account();
    const tool = toolOf(account.key);
    const data = JSON.stringify({ name: 'Ada', tags: ['vip'] });
    const made = await tool.run(['request', 'post', '/v1/cdp/contacts', '-d', data, '--json']);
    expect([made.code, JSON.parse(made.out)]).toMatchObject([0, { name: 'Ada', tags: ['vip'] }]);
    const piped = await tool.run(['request', 'POST', '/v1/cdp/contacts', '-d', '-'], { input: '{"name":"Ben"}' });
    expect([piped.code, piped.out]).toMatchObject([0, expect.stringContaining('\n  "name": "Ben"')]);
    const listed = await tool.run(['request', 'GET', '/v1/cdp/contacts', '-q', 'tag=vip', '-q', 'limit=5', '--json']);
    expect(JSON.parse(listed.out)).toMatchObject({ data: [{ name: 'Ada' }] });
    const refused = await tool.run(['request', 'POST', '/v1/cdp/contacts', '-d', '{"name":1}', '--json']);
    const error = { code: 'invalid_request', field: 'name' };
    expect([refused.code, JSON.parse(refused.out)]).toMatchObject([1, { error }]);
    const plain = await tool.run(['request', 'POST', '/v1/cdp/contacts', '-d', '{"name":1}']);
    expect(plain).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^refused \(400 invalid_request\): name must be/),
    });
  });

  it("advances the sandbox's clock until it is ready, and no live account's", async () => {
    const account = await platform.account();
    const tool = toolOf(account.testKey);
    const { now } = JSON.parse((await tool.run(['clock', '--json'])).out) as { now: string };
    const advanced = await tool.run(['clock', 'advance', '2d', '--json']);
    const after = JSON.parse(advanced.out) as { now: string; status: string };
    expect([advanced.code, after.status]).toEqual([0, 'ready']);
    expect(Date.parse(after.now) - Date.parse(now)).toBeGreaterThanOrEqual(2 * 86_400_000);
    const refused = await tool.run(['clock', 'advance', now]);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('refused (400 invalid_request): advance_to'),
    });
    const live = await toolOf(account.key).run(['clock', 'advance', '2d']);
    expect(live).toMatchObject({ code: 1, err: expect.stringContaining('needs a test key') });
  });

  it('lists deliveries of all endpoints, newest first, and resends one', async () => {
    const account = await platform.account();
    const tool = toolOf(account.key);
    const paths = ['/one', '/two'];
    for (const path of paths)
      await account.client.webhooks.create({ body: { url: hook.url + path, events: ['contact.*'] } });
    await account.client.cdp.contacts.create({ body: { name: 'Ada' } });
    const listed = async (...more: string[]) => {
      const { out } = await tool.run(['deliveries', 'list', '--json', ...more]);
      return (JSON.parse(out) as { data: { id: string; url: string; status: string }[] }).data;
    };
    const delivered = await waitFor('two deliveries', async () => {
      const all = await listed('--status', 'delivered');
      return all.length === 2 && all;
    });
    expect(delivered.map(({ url }) => url).sort()).toEqual(paths.map((path) => hook.url + path));
    const ids = delivered.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(await listed('--limit', '1')).toHaveLength(1);
    expect(await listed('--event', 'contact.merged')).toEqual([]);
    const lines = (await tool.run(['deliveries', 'list'])).out.trim().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual(['delivery', ...ids]);
    const { id, url } = delivered[0]!;
    const received = () => hook.received.filter(({ path }) => hook.url + path === url);
    expect(received()).toHaveLength(1);
    expect((await tool.run(['deliveries', 'resend', id])).out).toContain(id);
    await waitFor('the delivery again', () => received().length === 2);
    const unknown = await tool.run(['deliveries', 'resend', account.id]);
    expect(unknown).toMatchObject({ code: 1, err: `No endpoint of the account has the delivery ${account.id}\n` });
  });
});

describe('events, over the stream of the platform', () => {
  it('reach the client once each, with their sequence, even if connections break', async () => {
    const account = await platform.account();
    let opened = 0;
    const client = createClient({
      baseUrl: platform.gatewayUrl,
      apiKey: account.key,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (!String(url).includes('/stream') || opened++ >= 3) return response;
        // Breaks the connection in the middle of an event.
        let bytes = 150;
        const breaking = new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            controller.enqueue(chunk.subarray(0, bytes));
            bytes -= chunk.length;
            if (bytes <= 0) controller.error(new Error('broken'));
          },
        });
        return new Response(response.body!.pipeThrough(breaking), { headers: response.headers });
      },
    });
    const names = Array.from({ length: 6 }, (_, index) => `Ada ${index}`);
    await account.client.cdp.contacts.create({ body: { name: 'Before' } });
    await waitFor('the first event', async () => (await account.client.events.list()).data.length === 1);
    const stream = client.events.stream({ types: ['contact.created'] });
    const first = stream.next();
    await waitFor('a connection', () => opened > 0);
    for (const name of names) await account.client.cdp.contacts.create({ body: { name } });
    const seen = [(await first).value!];
    for await (const event of stream) if (seen.push(event) === names.length) break;
    expect(seen.map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(seen.map((event) => event.type === 'contact.created' && event.data.contact.name)).toEqual(names);
    expect(opened).toBeGreaterThan(3);
  });

  it('are refused if the key may not read them or the kind does not exist', async () => {
    const account = await platform.account();
    const key = await platform.issueKey(account.id, { scopes: ['cdp.contacts:read'] });
    const first = (apiKey: string, types: string[]) =>
      createClient({ baseUrl: platform.gatewayUrl, apiKey }).events.stream({ types, afterSequence: 0 }).next();
    await expect(first(key, ['contact.created'])).rejects.toMatchObject({ code: 'scope_missing' });
    const unknown = { code: 'invalid_request', field: 'types' };
    await expect(first(account.key, ['order.lost'])).rejects.toMatchObject(unknown);
  });
});

describe('the client, against the platform', () => {
  it('verifies deliveries, also while two secrets sign', async () => {
    const account = await platform.account();
    const body = { url: `${hook.url}/signed`, events: ['contact.created'] };
    const { id, secret } = await account.client.webhooks.create({ body });
    const rotated = await account.client.webhooks.rotateSecret({ params: { endpoint_id: id } });
    await account.client.cdp.contacts.create({ body: { name: 'Zoë' } });
    const received = await hook.next(({ path }) => path === '/signed');
    for (const secrets of [secret, rotated.secret, [rotated.secret, secret]]) {
      const event = await verifyWebhook(received.headers, received.body, secrets);
      expect(event.type === 'contact.created' && event.data.contact.name).toBe('Zoë');
    }
  });

  it('applies a write once, even if its response was lost', async () => {
    const account = await platform.account();
    let isFirst = true;
    const client = createClient({
      baseUrl: platform.gatewayUrl,
      apiKey: account.key,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (!isFirst) return response;
        isFirst = false;
        await response.text();
        throw new TypeError('the connection broke');
      },
    });
    const contact = await client.cdp.contacts.create({ body: { name: 'Ada' } });
    expect((await account.client.cdp.contacts.list()).data).toMatchObject([{ id: contact.id }]);
    expect(isFirst).toBe(false);
  });
});
