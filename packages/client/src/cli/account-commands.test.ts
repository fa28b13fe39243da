import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openTool, type Tool } from '../../test/tool.ts';

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

/** Runs a command with --json and parses its output. */
// biome-ignore lint/suspicious/noExplicitAny: output of any shape
async function json(tool: Tool, ...args: string[]): Promise<any> {
  const { out, err } = await tool.run([...args, '--json']);
  return JSON.parse(out || err) as unknown;
}

describe('contacts', () => {
  it('are imported from a file, and exported to a file that can be imported again', async () => {
    const account = await platform.account();
    const tool = toolOf(account.key);
    const file = join(tool.folder, 'people.csv');
    const rows = [
      'No;Name;E-Mail;Phone;Groups;Points;Comment',
      '1;"Lena ""Lu"" Vogel";Lena@Vogel.example;030 23125101;regular; bride;;x',
      '2;=cmd();;+49 30 901820;"vip, ""a;b""";12.5;',
      '3;Nobody;no address;;;1;y',
    ].map((line) => line.replace('regular; bride', '"regular; bride"'));
    writeFileSync(file, Buffer.from(`${rows.join('\r\n')}\r\n`, 'latin1'));
    const map = 'external_id=No,name=Name,email=E-Mail,phone=Phone,tags=Groups,fields.points=Points';
    const args = ['contacts', 'import', file, '--map', map, '--type', 'fields.points=number', '--tag', 'new'];
    const { code, out } = await tool.run([...args, '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([1, { created: 2, updated: 0, failed: 1 }]);
    expect(readFileSync(join(tool.folder, 'people.failed.csv'), 'utf8')).toMatch(
      /^No;Name;E-Mail;Phone;Groups;Points;Comment;error\n3;Nobody;no address;;;1;y;email must be an email address/,
    );
    expect((await account.client.cdp.contacts.list()).data).toMatchObject([
      {
        external_id: '2',
        name: '=cmd()',
        email: null,
        phone: '+4930901820',
        tags: ['vip', 'a;b', 'new'],
        fields: { points: 12.5 },
      },
      {
        external_id: '1',
        name: 'Lena "Lu" Vogel',
        email: 'lena@vogel.example',
        tags: ['regular', 'bride', 'new'],
        fields: {},
      },
    ]);

    const exported = join(tool.folder, 'exported.csv');
    await tool.run(['contacts', 'export', '-o', exported, '--bom']);
    const lines = readFileSync(exported, 'utf8').split('\r\n');
    expect(lines[0]).toBe('\ufeffid,number,external_id,name,phone,email,tags,fields.points');
    expect(lines[1]).toMatch(/,2,2,'=cmd\(\),\+4930901820,,"vip,""a;b"",new",12.5$/);
    const again = await json(tool, 'contacts', 'import', exported, '--type', 'fields.points=number');
    expect(again).toMatchObject({ created: 0, updated: 0, unchanged: 2, failed: 0 });
    const shown = (await tool.run(['contacts', 'export', '--format', 'jsonl'])).out.trim().split('\n');
    expect(shown.map((line) => JSON.parse(line) as unknown)).toEqual((await account.client.cdp.contacts.list()).data);
  });

  it('are all refused if the key may not write them, and a later import writes them all', async () => {
    const account = await platform.account();
    const key = await platform.issueKey(account.id, { scopes: ['cdp.contacts:read'] });
    const tool = toolOf(key);
    const file = join(tool.folder, 'people.csv');
    writeFileSync(file, 'name\nAda\n');
    const { code, err } = await tool.run(['contacts', 'import', file]);
    expect([code, err]).toEqual([1, expect.stringContaining('refused (403 scope_missing)')]);
    expect(await json(toolOf(account.key), 'contacts', 'import', file)).toMatchObject({ created: 1, failed: 0 });
  });
});

describe('keys and members', () => {
  it('of an account are created, shown, rotated and revoked', async () => {
    const account = await platform.account();
    const tool = toolOf(account.key);
    const made = await tool.run(['keys', 'create', '--name', 'Website', '--scopes', 'cdp.contacts:read,account:read']);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^cp_live_\w{40}\n$/) });
    const key = made.out.trim();
    const listed = await json(toolOf(key), 'keys', 'list');
    expect(listed.data[0]).toMatchObject({
      name: 'Website',
      mode: 'live',
      scopes: ['cdp.contacts:read', 'account:read'],
    });
    const { id } = listed.data[0];
    const rotated = await json(tool, 'keys', 'rotate', id, '--overlap', '0s');
    expect(rotated).toMatchObject({ name: 'Website', key: expect.stringMatching(/^cp_live_/) });
    await waitFor('the end of the old key', async () => (await toolOf(key).run(['keys', 'list'])).code === 1);
    expect(await tool.run(['keys', 'revoke', rotated.id])).toMatchObject({ code: 0, err: 'The key is revoked\n' });
    const lines = (await tool.run(['keys', 'list'])).out.split('\n');
    expect(lines.find((line) => line.startsWith(rotated.id))).toMatch(/Website +live +….{4} +revoked 20/);
    const test = await toolOf(account.testKey).run(['keys', 'create', '--name', 'CI', '--scopes', '*']);
    expect(test.out).toMatch(/^cp_test_/);
    expect(await tool.run(['keys', 'create', '--name', 'x', '--scopes', 'everything'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('scopes'),
    });
    expect(await tool.run(['keys', 'rotate', id, '--overlap', '5'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--overlap must be'),
    });
  });

  it('of a team are added, listed, and removed by id or email address', async () => {
    const account = await platform.account();
    const tool = toolOf(account.key);
    const added = await json(tool, 'members', 'add', 'Mira@Salon.example', '--name', 'Mira');
    expect(added).toMatchObject({ name: 'Mira', email: 'mira@salon.example', active: true });
    expect((await tool.run(['members', 'add', 'ben@salon.example', '--name', 'Ben'])).out).toContain(
      'active  ben@salon.example  Ben',
    );
    expect((await tool.run(['members', 'remove', 'MIRA@salon.example'])).code).toBe(0);
    const { data } = await json(tool, 'members', 'list');
    expect(data).toMatchObject([
      { name: 'Ben', active: true },
      { name: 'Mira', active: false },
    ]);
    expect((await tool.run(['members', 'remove', data[0].id])).code).toBe(0);
    expect(await tool.run(['members', 'remove', 'nobody@salon.example'])).toMatchObject({
      code: 1,
      err: 'No team member has the email address nobody@salon.example\n',
    });
  });
});

describe('webhooks', () => {
  it('are created, listed and tested, and failed deliveries are replayed', async () => {
    const account = await platform.account();
    const tool = toolOf(account.key);
    const made = await tool.run(['webhooks', 'create', `${hook.url}/one`, '--events', 'contact.*']);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^whsec_\S+\n$/) });
    const { data } = await json(tool, 'webhooks', 'list');
    expect(data).toMatchObject([{ url: `${hook.url}/one`, events: ['contact.*'] }]);
    const { id } = data[0];
    expect((await tool.run(['webhooks', 'list'])).out).toContain(`${id}  on     contact.*  ${hook.url}/one`);
    expect(await tool.run(['webhooks', 'test', id])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/ delivered: 204 in \d+ ms\n$/),
    });
    hook.respond = (_request, response) => response.writeHead(500).end();
    expect(await tool.run(['webhooks', 'test', id])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/ pending: 500 in \d+ ms\n$/),
    });
    hook.respond = (_request, response) => response.writeHead(204).end();
    const count = hook.received.length;
    const replay = await json(tool, 'webhooks', 'replay', id, '--since', '2020-01-01T00:00:00Z');
    expect(replay).toMatchObject({ status: 'completed', matched: 1, done: 1 });
    await waitFor('it again', () => hook.received.length > count);
    expect(await tool.run(['webhooks', 'replay', id])).toMatchObject({
      code: 2,
      err: expect.stringContaining('needs --since <time>'),
    });
  });
});

describe('trigger', () => {
  it('sends the example with other values, or the newest resource of the sandbox', async () => {
    const account = await platform.account();
    const tool = toolOf(account.testKey);
    const data = JSON.stringify({ order: { number: 7 } });
    const changed = await json(tool, 'trigger', 'order.declined', '--data', data);
    expect(changed).toMatchObject({ type: 'order.declined', data: { order: { number: 7, currency: 'EUR' } } });
    const none = await tool.run(['trigger', 'contact.created', '--from-last']);
    expect(none).toMatchObject({
      code: 1,
      err: expect.stringContaining('--from-last: the sandbox has no contact yet'),
    });
    const contact = await account.testClient.cdp.contacts.create({ body: { name: 'Ada', fields: { points: 5 } } });
    expect((await json(tool, 'trigger', 'contact.created', '--from-last')).data.contact).toEqual(contact);
    const both = await json(tool, 'trigger', 'contact.updated', '--from-last', '-d', '{"contact":{"name":"Ben"}}');
    expect(both.data).toMatchObject({ contact: { ...contact, name: 'Ben' }, previous: expect.any(Object) });
  });

  it('reports invalid values, and kinds without a resource', async () => {
    const account = await platform.account();
    const tool = toolOf(account.testKey);
    const refused = async (...args: string[]) => (await tool.run(['trigger', ...args])).err.split('\n')[0];
    expect(await refused('order.declined', '-d', '{"deal":{}}')).toBe(
      'refused (400 invalid_request): data.deal is not a field of order.declined, which has order, previous',
    );
    expect(await refused('order.declined', '-d', '{"order":{"number":"x"}}')).toMatch(
      /400 invalid_request\): data\.order\.number must be/,
    );
    expect(await refused('order.declined', '-d', '[]')).toBe('--data must be a JSON object');
    expect(await refused('message.received', '--from-last')).toMatch(
      /^--from-last takes appointment\.\*, .* except message\.received, not/,
    );
    expect((await account.testClient.events.list({})).data).toEqual([]);
  });
});
