import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Assistant, startAssistant } from '../../../test/assistant.ts';

let platform: Platform;
let account: TestAccount;
/** An assistant with a test key, which cannot ask its user. */
let sandbox: Assistant;
const folder = mkdtempSync(join(tmpdir(), 'client-mcp-'));
const main = join(import.meta.dirname, '../main.ts');
const assistants: Assistant[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks', 'messaging'] });
  account = await platform.account();
  sandbox = await open(account.testKey);
});
afterEach(async () => {
  for (const assistant of assistants.splice(0)) {
    await assistant.close();
    expect(assistant.strays).toEqual([]);
  }
  expect(sandbox.strays).toEqual([]);
});
afterAll(async () => {
  await sandbox?.close();
  await platform?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the command as an assistant does. `answer` is the user's answer to each question. */
async function open(key: string, flags: string[] = [], answer?: 'accept' | 'decline' | 'cancel'): Promise<Assistant> {
  const env = { XDG_CONFIG_HOME: folder, CUSTOMER_PLATFORM_URL: platform.gatewayUrl, CUSTOMER_PLATFORM_KEY: key };
  return await startAssistant([process.execPath, main, 'mcp', ...flags], { env, answer });
}

/** Does the same, and closes the assistant after the test. */
async function start(...given: Parameters<typeof open>): Promise<Assistant> {
  const assistant = await open(...given);
  assistants.push(assistant);
  return assistant;
}

const create = (name: string) => ({ operation: 'createContact', body: { name } });

describe('an assistant', () => {
  it('gets tools whose annotations tell its host which one changes something', async () => {
    const { tools } = await sandbox.client.listTools();
    expect(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
    ).toEqual([
      ['search_operations', true, undefined],
      ['describe_operation', true, undefined],
      ['read_guide', true, undefined],
      ['call_operation', true, undefined],
      ['call_operation_write', false, true],
    ]);
    expect(sandbox.client.getInstructions()).toContain('a sandbox, which reaches no real person');
  });

  it('finds an operation, describes it, and calls it by id or by its name in the clients', async () => {
    const { operations } = await sandbox.json('search_operations', { query: 'create a contact' });
    expect(operations[0]).toEqual({
      operation: 'createContact',
      name: 'cdp.contacts.create',
      method: 'POST',
      path: '/v1/cdp/contacts',
      summary: 'Create a contact',
      scope: 'cdp.contacts:write',
      tool: 'call_operation_write',
    });
    const described = await sandbox.json('describe_operation', { operation: 'createContact' });
    expect(described.body.schema.properties.name).toMatchObject({ type: 'string' });
    expect(described.errors.map(({ status }: { status: number }) => status)).toContain(400);
    const made = await sandbox.json('call_operation_write', { ...create('Ada'), operation: 'cdp.contacts.create' });
    const read = { operation: 'getContact', params: { contact_id: made.id } };
    expect(await sandbox.json('call_operation', read)).toMatchObject({ id: made.id, name: 'Ada' });
    const listed = await sandbox.json('call_operation', { operation: 'listContacts', query: { limit: 1 } });
    expect(listed.data).toHaveLength(1);
  });

  it('describes every operation within the limit of a result', async () => {
    const document = (await account.request('GET', '/v1/openapi.json', { key: null })).body;
    const paths = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>);
    const ids = paths.flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    expect(ids.length).toBeGreaterThan(50);
    for (const operation of ids) {
      const described = await sandbox.json('describe_operation', { operation });
      expect(described).toMatchObject({ operation, params: expect.any(Array), errors: expect.any(Array) });
    }
  });

  it('calls a search with a body as a read', async () => {
    const assistant = await start(account.testKey, ['--read-only']);
    const rules = { match: 'all', conditions: [{ type: 'tag', op: 'has', tag: 'regular' }] };
    const preview = await assistant.json('call_operation', { operation: 'previewAudience', body: { rules } });
    expect(preview).toEqual({ members: 0, sample: [] });
  });
});

describe('a write', () => {
  const names = async () => (await account.client.listContacts()).data.map(({ name }) => name);

  it('is sent only if the user agrees to its method, path and body', async () => {
    const agreeing = await start(account.key, [], 'accept');
    await agreeing.json('call_operation_write', create('Ben'));
    expect(agreeing.questions).toHaveLength(1);
    expect(agreeing.questions[0]).toMatch(
      /^Create a contact in .+ \(live\)\?\nPOST \/v1\/cdp\/contacts\n\{\n {2}"name": "Ben"\n\}$/,
    );
    for (const answer of ['decline', 'cancel'] as const) {
      const declining = await start(account.key, [], answer);
      const refused = { isError: true, text: 'Not sent: the user did not agree.' };
      expect(await declining.call('call_operation_write', create('Cleo'))).toEqual(refused);
    }
    expect(await names()).toEqual(['Ben']);
  });

  it('with a live key is refused if the assistant cannot ask, unless --yes allows it', async () => {
    const mute = await start(account.key);
    const refused = await mute.call('call_operation_write', create('Dan'));
    expect(refused).toEqual({ isError: true, text: expect.stringMatching(/^Not sent: the key is live .* --yes/) });
    const allowed = await start(account.key, ['--yes'], 'decline');
    await allowed.json('call_operation_write', create('Eve'));
    expect([allowed.questions, await names()]).toEqual([[], expect.not.arrayContaining(['Dan'])]);
    expect(await names()).toContain('Eve');
  });

  it('has no tool with --read-only, and is refused as a read', async () => {
    const assistant = await start(account.testKey, ['--read-only']);
    const { tools } = await assistant.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain('call_operation_write');
    const refused = await assistant.call('call_operation', create('Fay'));
    expect(refused).toEqual({ isError: true, text: expect.stringContaining('started with --read-only') });
    expect((await sandbox.call('call_operation', create('Fay'))).text).toContain('call it with call_operation_write');
  });
});

describe('a result', () => {
  it('contains no key or secret of the response', async () => {
    const write = (operation: string, given: object) => sandbox.json('call_operation_write', { operation, ...given });
    const hidden = expect.stringMatching(/^\[hidden; /);
    const key = await write('createApiKey', { body: { name: 'Till', mode: 'test', scopes: ['cdp.contacts:read'] } });
    expect(key).toMatchObject({ name: 'Till', key: hidden, last4: expect.stringMatching(/^.{4}$/) });
    const rotated = await write('rotateApiKey', { params: { key_id: key.id }, body: {} });
    expect(rotated).toMatchObject({ key: hidden });
    const endpoint = await write('createEndpoint', { body: { url: 'https://example.com/hook', events: ['*'] } });
    expect(endpoint).toMatchObject({ url: 'https://example.com/hook', secret: hidden });
    expect(await write('rotateEndpointSecret', { params: { endpoint_id: endpoint.id } })).toEqual({ secret: hidden });
    const settings = { url: 'https://example.com/send' };
    const channel = await write('putChannel', { params: { channel: 'sms' }, body: { provider: 'http', settings } });
    expect(channel.settings).toEqual({ ...settings, secret: hidden });
  });

  it('contains no key or secret inside a string', async () => {
    const secrets = [account.key, account.testKey, `whsec_${Buffer.from('a secret of the shop').toString('base64')}`];
    await account.testClient.createContact({ body: { name: 'Notes', fields: { note: secrets.join(' ') } } });
    const { text } = await sandbox.call('call_operation', { operation: 'listContacts' });
    expect(text).toContain('Notes');
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('that is too long is cut, with a note on how to get the rest', async () => {
    const fields = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, 'x'.repeat(900)]));
    const contacts = Array.from({ length: 20 }, (_, index) => ({ name: `Long ${index}`, fields }));
    await account.testClient.writeContacts({ body: { contacts } });
    const { text } = await sandbox.call('call_operation', { operation: 'listContacts', query: { limit: 100 } });
    expect(text.length).toBeLessThan(101_000);
    const [, note] = text.split('\n');
    expect(note).toMatch(/^\[cut after 100000 of \d+ characters; ask for fewer entries with query\.limit/);
  });
});

describe('a call that cannot be done says why', () => {
  it('by the scopes of the key, before it is called and after', async () => {
    const key = await platform.issueKey(account.id, { scopes: ['cdp.contacts:read'] });
    const assistant = await start(key, ['--yes']);
    const { operations } = await assistant.json('search_operations', { query: 'create a contact' });
    expect(operations[0]).toMatchObject({ note: 'The key lacks the scope cdp.contacts:write.' });
    const refused = await assistant.call('call_operation_write', create('Gus'));
    expect(refused).toEqual({ isError: true, text: expect.stringMatching(/^Refused \(403 scope_missing\): /) });
  });

  it.each([
    [
      'an unknown operation',
      { operation: 'createContacts' },
      /^operation: there is no "createContacts", .*createContact/,
    ],
    ['a missing parameter', { operation: 'getContact' }, /^params\.contact_id: getContact needs .* missing/],
    ['an unknown parameter', { operation: 'listContacts', params: { limit: 1 } }, /^params\.limit: .* goes into query/],
    ['a path of another operation', { operation: 'getContact', params: { contact_id: '..' } }, /^params\.contact_id:/],
    ['a value that the platform refuses', { operation: 'listContacts', query: { limit: 0 } }, /field limit\): /],
    ['a body where there is none', { operation: 'listContacts', body: {} }, /^body: listContacts takes no body/],
    ['a wrong argument', { operation: 'listContacts', quary: {} }, /quary/],
    ['a wrong type', { operation: 'listContacts', query: 'limit=1' }, /query/],
    ['no operation', {}, /operation/],
    ['a stream', { operation: 'streamEvents' }, /^operation: streamEvents cannot be called here\. .*listEvents/],
  ])('by naming %s', async (_fault, given, text) => {
    expect(await sandbox.call('call_operation', given)).toEqual({ isError: true, text: expect.stringMatching(text) });
  });

  it('by the areas of the API, if a search finds nothing', async () => {
    const { text, isError } = await sandbox.call('search_operations', { query: 'zzzz' });
    expect([isError, text]).toEqual([
      true,
      expect.stringMatching(/^query: nothing matches "zzzz"; .*calendar, agents/),
    ]);
  });

  it('by the address that does not respond', async () => {
    const env = {
      XDG_CONFIG_HOME: folder,
      CUSTOMER_PLATFORM_URL: 'http://127.0.0.1:9',
      CUSTOMER_PLATFORM_KEY: 'cp_test_x',
    };
    const assistant = await startAssistant([process.execPath, main, 'mcp'], { env });
    assistants.push(assistant);
    const refused = await assistant.call('search_operations', { query: 'contacts' });
    expect(refused).toEqual({ isError: true, text: expect.stringMatching(/^connection_failed: .*127\.0\.0\.1:9/) });
  });
});

it('the command prints the kind of its key to the standard error, and ends with its assistant', async () => {
  const live = await start(account.key);
  expect(live.err()).toMatch(
    /^Serving http\S+ with a live key\. It asks before each write, and refuses the write if your assistant cannot ask\./,
  );
  const sandbox = await start(account.testKey, ['--read-only']);
  expect(sandbox.err()).toContain('with a test key. It offers no writes');
  const { pid } = sandbox.client.transport as unknown as { pid: number };
  await sandbox.close();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

it('with a key that the platform does not accept, the command ends at once with an error', async () => {
  await expect(open('cp_test_wrong')).rejects.toThrow('does not accept the key: ');
});
