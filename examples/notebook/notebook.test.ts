import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, pagesOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
const scopes = [...new Set(readme.match(/\b(?:cdp\.)?[a-z]+:(?:read|write)\b/g))];

let platform: Platform;
let account: TestAccount;
let key: string;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
});
beforeEach(async () => {
  account = await platform.account();
  key = await platform.issueKey(account.id, { mode: 'test', scopes });
});

/** Runs the notebook, and kills it once its output contains `killAt`. Returns its output and exit code. */
async function run(options: { apiKey?: string; file?: string; killAt?: string } = {}) {
  const { apiKey = key, file, killAt } = options;
  const env = { ...process.env, PLATFORM_URL: platform.gatewayUrl, PLATFORM_TEST_KEY: apiKey };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'notebook.ts'), ...(file ? [file] : [])], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += String(chunk);
      if (killAt && output.includes(killAt)) child.kill('SIGKILL');
    });
  await waitFor('the notebook to end', () => child.exitCode !== null || child.signalCode !== null, 120_000);
  return { output, code: child.exitCode };
}

it('sends 60 of 200 contacts one message each, however often it is killed and repeated', async () => {
  expect(scopes).toHaveLength(6);
  for (const killAt of ['Importing contacts: 100', 'Events: ', 'Sending messages: 50']) {
    expect(await run({ killAt })).toMatchObject({ code: null, output: expect.stringContaining(killAt) });
  }
  const whole = await run();
  expect(whole).toMatchObject({ code: 0 });
  expect(whole.output).toContain('200 contacts in the file');
  expect(whole.output).toContain('Events: 0 recorded, 340 already known');
  expect(whole.output).toContain('60 members of "Trials without a purchase"');
  expect(whole.output).toMatch(/\n60 messages: 2 failed, .+\n$/);
  expect(await run()).toMatchObject({ code: 0, output: expect.stringMatching(/\n60 messages: 2 failed, .+\n$/) });

  const { testClient } = account;
  expect((await pagesOf((query) => testClient.cdp.contacts.list({ query }))).data).toHaveLength(200);
  const messages = async () => (await pagesOf((query) => testClient.messages.list({ query }))).data;
  expect(await messages()).toHaveLength(60);
  // Messages are read shortly after their delivery.
  const read = await waitFor('two to be read', async () => {
    const all = (await messages()).filter(({ status }) => status === 'read');
    return all.length === 2 && all;
  });
  expect(read.map(({ to }) => to.slice(-2))).toEqual(['02', '02']);
  expect((await testClient.cdp.audiences.list({})).data).toHaveLength(1);
}, 180_000);

it('with a live key does nothing', async () => {
  const { code, output } = await run({ apiKey: account.key });
  expect([code, output]).toEqual([2, expect.stringContaining('a live key would send real messages')]);
  expect((await account.client.cdp.contacts.list({})).data).toEqual([]);
});

it('names the invalid line of a file, and does nothing', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'notebook-'));
  const file = join(directory, 'wrong.csv');
  const [head, first] = readFileSync(join(import.meta.dirname, 'contacts.csv'), 'utf8').split('\n');
  writeFileSync(file, `${head}\n${first}\n${first},more\n`);
  const { code, output } = await run({ file });
  rmSync(directory, { recursive: true });
  expect([code, output]).toEqual([1, expect.stringContaining('Line 3 has 7 values; it must have 6')]);
  expect((await account.testClient.cdp.contacts.list({})).data).toEqual([]);
});
