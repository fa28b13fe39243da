import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { errorStatus } from '@customer-platform/contracts/core';
import { exampleMember, fillSandbox } from '@customer-platform/deploy/demo/demo-sandbox';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/** Runs the guides as a reader would: their shell blocks in order, in one shell, each followed by what it should show. */
const guides = [
  'agents',
  'authentication',
  'calendar',
  'customer-data',
  'deals',
  'errors',
  'idempotency',
  'messages',
  'orders',
  'paging',
  'rate-limits',
  'sandbox',
  'webhooks',
];

const tool = new URL('../packages/admin-cli/src/cli.ts', import.meta.url).pathname;
const separator = '\u001e';

interface Block {
  command: string;
  /** JSON that the block's last line holds: `…` stands for anything. */
  shows: unknown;
}

let platform: Platform;
let account: TestAccount;
/** Has data, as the demo's sandbox has. */
let used: TestAccount;
/** Stands for the reader's own server and website: nothing leaves this machine. */
let readersServer: Receiver;

beforeAll(async () => {
  readersServer = await startReceiver();
  platform = await startPlatform();
  used = await platform.account({ timezone: 'Europe/Berlin', country: 'DE' });
  await platform.admin('POST', `/admin/accounts/${used.sandboxId}/members`, exampleMember);
  await fillSandbox(async (method, path, body) => {
    const sent = { ...(body ? { body } : {}), key: used.testKey };
    // A member's event takes a moment to arrive.
    return await waitFor(`${method} ${path}`, async () => {
      const response = await used.request(method, path, sent);
      return response.status < 300 && response.body;
    });
  });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await readersServer?.stop();
});

describe.each(guides)('docs/%s.md', (name) => {
  it('every command succeeds and shows what the guide says', async () => {
    account = await platform.account();
    const blocks = blocksOf(readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8'));
    expect(blocks.length).toBeGreaterThan(0);
    const { code, outputs, errors } = await run(blocks, account);
    expect(code === 0 ? 'all commands succeeded' : { errors, outputs }).toBe('all commands succeeded');
    for (const [index, { shows }] of blocks.entries()) {
      if (shows === undefined) continue;
      const last = outputs[index]!.trim().split('\n').at(-1)!;
      expect(JSON.parse(last)).toEqual(matcherOf(shows));
    }
  }, 60_000);

  it('comes to its end, twice, in an account that has data', async () => {
    const blocks = blocksOf(readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8'));
    const first = await run(blocks, used);
    expect(first.code === 0 ? 'all commands succeeded' : first).toBe('all commands succeeded');
    // The second time some commands are refused, such as a product whose SKU is there: a reader's shell goes on.
    const second = await run(blocks, used, '-uo');
    expect(second.code === 0 ? 'it came to its end' : second).toBe('it came to its end');
    expect(lastLineOf(second)).toBe(lastLineOf(first));
  }, 120_000);
});

it('docs/errors.md says what to do about each code, under its status', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (`[a-z_`, ]+) \| ([\d, ]+) \| (.+) \|$/gm)];
  const listed = rows.flatMap(([, codes, statuses]) =>
    codes!.split(', ').map((code) => [code.replaceAll('`', ''), statuses!.split(', ').map(Number)] as const),
  );
  expect(listed.map(([code]) => code).toSorted()).toEqual(Object.keys(errorStatus).toSorted());
  for (const [code, statuses] of listed) expect(statuses).toContain(errorStatus[code as keyof typeof errorStatus]);
});

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^ *```sh\n([\s\S]*?)```(?:\s*```json\n([\s\S]*?)```)?/gm)].map(([, command, shown]) => ({
    command: command!,
    shows: shown === undefined ? undefined : (JSON.parse(shown) as unknown),
  }));
}

interface Ran {
  code: number | null;
  outputs: string[];
  errors: string;
}

/** Returns the names of what the last command printed, without values: the same where it did the same. */
function lastLineOf({ outputs }: Ran): string {
  const last = outputs.at(-2)!.trim().split('\n').at(-1)!;
  return last.startsWith('{') ? Object.keys(JSON.parse(last) as object).join() : '';
}

/** Runs the blocks in one shell, which by default ends at the first command that fails. */
async function run(blocks: readonly Block[], { key, testKey }: TestAccount, options = '-euo'): Promise<Ran> {
  const script = blocks
    .map(({ command }) => `${command}\nprintf '\\036'\n`)
    .join('')
    .replaceAll('http://127.0.0.1:8080', platform.gatewayUrl)
    .replaceAll('https://example.com', readersServer.url)
    .replaceAll('http://127.0.0.1:3000', readersServer.url)
    .replaceAll('cp_test_…', testKey)
    .replaceAll('cp_live_…', key)
    .replaceAll(/\S+/g, (word) => (isCredential(word) ? (credentials[word] ?? `${word.slice(0, -1)}x`) : word))
    .replaceAll('npm run -s admin --', `node ${tool}`);
  const shell = spawn('bash', [options, 'pipefail', '-c', script], {
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      ADMIN_URL: platform.adminUrl,
      ADMIN_TOKEN: platform.adminToken,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => shell.on('close', resolve));
  const [output, errors, code] = await Promise.all([text(shell.stdout), text(shell.stderr), ended]);
  return { code, outputs: output.split(separator), errors };
}

/** Returns whether a word is to be filled in by the reader: a name that is set to something with `…`. */
const isCredential = (word: string) => /^[A-Z_]+=/.test(word) && word.includes('…');
const credentials: Record<string, string> = {
  'NUMBER_ID=…': 'NUMBER_ID=106540352242922',
  'ACCOUNT_SID=AC…': `ACCOUNT_SID=AC${'0'.repeat(32)}`,
  'FROM=+49…': 'FROM=+4930901820',
  'SMTP_HOST=smtp.…': 'SMTP_HOST=smtp.invalid',
  'SMTP_FROM=shop@…': 'SMTP_FROM=shop@example.com',
  'PROVIDER=https://provider.…/send': 'PROVIDER=https://provider.example/send',
};

/** Returns what equals JSON that has at least these properties and list entries, with any text in place of `…`. */
function matcherOf(shows: unknown): unknown {
  if (typeof shows === 'string' && shows.includes('…')) {
    return expect.stringMatching(`^${shows.split('…').map(RegExp.escape).join('.*')}$`);
  }
  if (Array.isArray(shows)) return shows.map(matcherOf);
  if (typeof shows !== 'object' || shows === null) return shows;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(shows).map(([key, value]) => [key, matcherOf(value)])),
  );
}
