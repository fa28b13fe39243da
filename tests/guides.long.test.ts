import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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

/**
 * Runs the guides as a reader would: their shell blocks in order in one shell, with a check of the shown output, and their programs.
 */
const guides = [
  'agents',
  'authentication',
  'calendar',
  'customer-data',
  'deals',
  'errors',
  'events',
  'idempotency',
  'messages',
  'orders',
  'paging',
  'rate-limits',
  'sandbox',
  'webhooks',
];

/** Pages with programs in TypeScript. */
const typed = [
  'agents',
  'calendar',
  'client',
  'customer-data',
  'deals',
  'errors',
  'events',
  'messages',
  'orders',
  'paging',
  'webhooks',
];

const modules = new URL('../node_modules', import.meta.url).pathname;
const separator = '\u001e';

interface Block {
  command: string;
  /** JSON in the block's last line. `…` matches anything. */
  shows: unknown;
}

let platform: Platform;
let account: TestAccount;
/** Account with data, like the demo's sandbox. */
let used: TestAccount;
/** Simulates the reader's own server and website, so that nothing leaves this machine. */
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
    const blocks = blocksOf(pageOf(name));
    expect(blocks.length).toBeGreaterThan(0);
    const { code, outputs, errors } = await run(blocks, account);
    expect(code === 0 ? 'all commands succeeded' : { errors, outputs }).toBe('all commands succeeded');
    for (const [index, { shows }] of blocks.entries()) {
      if (shows === undefined) continue;
      const last = outputs[index]!.trim().split('\n').at(-1)!;
      expect(JSON.parse(last)).toEqual(matcherOf(shows));
    }
  }, 60_000);

  it('completes twice in an account with data', async () => {
    const blocks = blocksOf(pageOf(name));
    const first = await run(blocks, used);
    expect(first.code === 0 ? 'all commands succeeded' : first).toBe('all commands succeeded');
    // The second run rejects some commands, such as a product with an existing SKU. A reader's shell continues.
    const second = await run(blocks, used, '-uo');
    expect(second.code === 0 ? 'it came to its end' : second).toBe('it came to its end');
    expect(lastLineOf(second)).toBe(lastLineOf(first));
  }, 120_000);
});

describe('programs in TypeScript', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'guides-'));
    symlinkSync(modules, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('compile under strict, as a reader would compile them', async () => {
    const files = typed.flatMap((name) => programsOf(name).map(({ file, code }) => write(file, code)));
    const options = '--noEmit --strict --skipLibCheck --module nodenext --allowImportingTsExtensions --types node';
    const outcome = await finished(process.execPath, [
      join(modules, 'typescript/bin/tsc'),
      ...options.split(' '),
      ...files,
    ]);
    expect(outcome).toEqual({ code: 0, output: '' });
  }, 120_000);

  it.each(typed.flatMap((name) => programsOf(name)))(
    '$file runs to its end',
    async ({ file, code }) => {
      const { code: status, output } = await finished(process.execPath, [write(file, code)]);
      expect(status === 0 ? 'it ended' : output).toBe('it ended');
    },
    60_000,
  );

  function write(file: string, code: string): string {
    writeFileSync(join(folder, file), code);
    return join(folder, file);
  }

  async function finished(program: string, args: string[]): Promise<{ code: number | null; output: string }> {
    const child = spawn(program, args, {
      cwd: folder,
      env: { PATH: process.env.PATH, CUSTOMER_PLATFORM_URL: platform.gatewayUrl, CUSTOMER_PLATFORM_KEY: used.testKey },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { code, output: output + errors };
  }
});

it('docs/errors.md says what to do about each code, under its status', () => {
  const page = pageOf('errors');
  const rows = [...page.matchAll(/^\| (`[a-z_`, ]+) \| ([\d, ]+) \| (.+) \|$/gm)];
  const listed = rows.flatMap(([, codes, statuses]) =>
    codes!.split(', ').map((code) => [code.replaceAll('`', ''), statuses!.split(', ').map(Number)] as const),
  );
  expect(listed.map(([code]) => code).toSorted()).toEqual(Object.keys(errorStatus).toSorted());
  for (const [code, statuses] of listed) expect(statuses).toContain(errorStatus[code as keyof typeof errorStatus]);
});

function pageOf(name: string): string {
  return readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');
}

/** Returns the programs of a page in TypeScript. */
function programsOf(name: string): { file: string; code: string }[] {
  const blocks = [...pageOf(name).matchAll(/^```ts\n([\s\S]*?)^```/gm)];
  return blocks.map(([, code], index) => ({ file: `${name}-${index + 1}.ts`, code: code! }));
}

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

/** Returns the field names that the last command printed, which are equal if it had the same effect. */
function lastLineOf({ outputs }: Ran): string {
  const last = outputs.at(-2)!.trim().split('\n').at(-1)!;
  return last.startsWith('{') ? Object.keys(JSON.parse(last) as object).join() : '';
}

/** Runs the blocks in one shell, which by default ends at the first command that fails. */
async function run(blocks: readonly Block[], { key, testKey }: TestAccount, options = '-euo'): Promise<Ran> {
  const script = blocks
    .map(({ command }) => `${command}\nprintf '\\036'\n`)
    .join('')
    .replaceAll('https://api.example.com', platform.gatewayUrl)
    .replaceAll('https://example.com', readersServer.url)
    .replaceAll('cp_test_…', testKey)
    .replaceAll('cp_live_…', key)
    .replaceAll(/\S+/g, (word) => (isCredential(word) ? (credentials[word] ?? `${word.slice(0, -1)}x`) : word));
  const shell = spawn('bash', [options, 'pipefail', '-c', script], {
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => shell.on('close', resolve));
  const [output, errors, code] = await Promise.all([text(shell.stdout), text(shell.stderr), ended]);
  return { code, outputs: output.split(separator), errors };
}

/** Returns whether the reader must fill in a word: an assignment with `…`. */
const isCredential = (word: string) => /^[A-Z_]+=/.test(word) && word.includes('…');
const credentials: Record<string, string> = {
  'NUMBER_ID=…': 'NUMBER_ID=106540352242922',
  'ACCOUNT_SID=AC…': `ACCOUNT_SID=AC${'0'.repeat(32)}`,
  'FROM=+49…': 'FROM=+4930901820',
  'SMTP_HOST=smtp.…': 'SMTP_HOST=smtp.invalid',
  'SMTP_FROM=shop@…': 'SMTP_FROM=shop@example.com',
  'PROVIDER=https://provider.…/send': 'PROVIDER=https://provider.example/send',
};

/** Returns a matcher for JSON with at least these properties and list entries, with any text in place of `…`. */
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
