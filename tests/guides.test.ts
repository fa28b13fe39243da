import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { errorStatus } from '@customer-platform/contracts/core';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
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
  'orders',
  'paging',
  'rate-limits',
  'sandbox',
  'webhooks',
];

const tool = new URL('../gateway/src/cli.ts', import.meta.url).pathname;
const separator = '\u001e';

interface Block {
  command: string;
  /** JSON that the block's last line holds: `…` stands for anything. */
  shows: unknown;
}

let platform: Platform;
let account: TestAccount;
/** Stands for the reader's own server and website: nothing leaves this machine. */
let readersServer: Receiver;

beforeAll(async () => {
  readersServer = await startReceiver();
  platform = await startPlatform();
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
    const { code, outputs, errors } = await run(blocks);
    expect(code === 0 ? 'all commands succeeded' : { errors, outputs }).toBe('all commands succeeded');
    for (const [index, { shows }] of blocks.entries()) {
      if (shows === undefined) continue;
      const last = outputs[index]!.trim().split('\n').at(-1)!;
      expect(JSON.parse(last)).toEqual(matcherOf(shows));
    }
  }, 60_000);
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

/** Runs the blocks in one shell that ends at the first command that fails. */
async function run(blocks: readonly Block[]): Promise<{ code: number | null; outputs: string[]; errors: string }> {
  const script = blocks
    .map(({ command }) => `${command}\nprintf '\\036'\n`)
    .join('')
    .replaceAll('http://127.0.0.1:8080', platform.gatewayUrl)
    .replaceAll('https://example.com', readersServer.url)
    .replaceAll('cp_test_…', account.testKey)
    .replaceAll('npm run -s admin --', `node ${tool}`);
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
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
