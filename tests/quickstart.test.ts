import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, startPlatform, startReceiver, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

/** Runs the programs and commands of docs/quickstart.md as a reader would. */
const page = readFileSync(new URL('../docs/quickstart.md', import.meta.url), 'utf8');
const commandLine = new URL('../packages/client/src/cli/main.ts', import.meta.url).pathname;
const deadlineMs = 60_000;

interface Run {
  child: ChildProcess;
  output(): string;
  ended: Promise<number | null>;
}

let platform: Platform;
let account: TestAccount;
let folder: string;
const runs: Run[] = [];

beforeAll(async () => {
  platform = await startPlatform();
  account = await platform.account();
  folder = mkdtempSync(join(tmpdir(), 'quickstart-'));
  symlinkSync(new URL('../node_modules', import.meta.url).pathname, join(folder, 'node_modules'));
}, 120_000);
afterAll(async () => {
  for (const { child, ended } of runs) {
    child.kill();
    await ended;
  }
  if (folder) rmSync(folder, { recursive: true, force: true });
  await platform?.stop();
});

it('shows the fallback and the reminder at the receiver once the clock was advanced', async () => {
  const [receiverSource, setupSource, appSource] = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code!);
  const port = await freePort();
  writeFileSync(join(folder, 'receiver.mjs'), receiverSource!.replace('3000', String(port)));
  writeFileSync(join(folder, 'setup.mjs'), setupSource!);
  writeFileSync(join(folder, 'app.mjs'), appSource!);
  const url = `http://127.0.0.1:${port}/`;

  const listening = run([commandLine, 'listen', '--forward-to', url]);
  await waitFor('listen', () => /Ready/.test(listening.output()), deadlineMs);
  const [secret] = /whsec_\S+/.exec(listening.output())!;
  const receiver = run(['receiver.mjs'], { WEBHOOK_SECRET: secret });
  await waitFor('the receiver', async () => (await statusOf(url)) === 401, deadlineMs);
  const shown = (): string[] => receiver.output().match(/\b[a-z]+\.[a-z]+$/gm) ?? [];

  await expectDone([commandLine, ...wordsOf('trigger order.declined')]);
  await expectDone(['setup.mjs']);
  await expectDone(['app.mjs']);
  const first = ['order.declined', 'contact.created', 'appointment.booked', 'message.sent'];
  await waitFor('the events of the app', () => first.every((kind) => shown().includes(kind)), deadlineMs);
  expect(shown()).not.toContain('message.delivered');

  const again = run([commandLine, ...wordsOf('request POST /v1/calendar/appointments -d @booking.json')]);
  expect(await again.ended).toBe(1);
  const [refusal] = /^refused \(409 slot_taken\).*$/m.exec(page)!;
  expect(again.output().trim()).toBe(refusal);

  await expectDone([commandLine, ...wordsOf('clock advance 3d')]);
  await waitFor('the fallback', () => shown().includes('message.delivered'), deadlineMs);
  const sent = shown().filter((kind) => kind === 'message.sent').length;
  await expectDone([commandLine, ...wordsOf('clock advance 4d')]);
  const sentNow = () => shown().filter((kind) => kind === 'message.sent').length;
  await waitFor('the reminder', () => sentNow() === sent + 1, deadlineMs);
}, 240_000);

it('shows the attempts at an endpoint that rejects deliveries', async () => {
  const refusing = await startReceiver();
  refusing.respond = (_, response) => response.writeHead(405).end();
  try {
    const [, endpoint] = /request POST \/v1\/webhooks -d '(\S+)'/.exec(page)!;
    const request = [commandLine, 'request'];
    const body = endpoint!.replace('https://example.com', refusing.url);
    const { id } = JSON.parse(await expectDone([...request, 'POST', '/v1/webhooks', '-d', body])) as { id: string };
    const list = async () => await expectDone([commandLine, 'deliveries', 'list', '--endpoint', id]);
    await expectDone([commandLine, ...wordsOf('trigger order.declined')]);
    await waitFor('the first attempt', async () => / pending +[12] +405 /.test(await list()), deadlineMs);
    await expectDone([commandLine, ...wordsOf('clock advance 10m')]);
    expect(await list()).toMatch(/ pending +3 +405 /);
    await expectDone([...request, 'DELETE', `/v1/webhooks/${id}`]);
  } finally {
    await refusing.stop();
  }
}, 120_000);

/** Returns the words of a command, which the page must contain. */
function wordsOf(command: string): string[] {
  expect(page).toContain(`npx customer-platform ${command}`);
  return command.split(' ');
}

function run(args: string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      XDG_CONFIG_HOME: folder,
      CUSTOMER_PLATFORM_URL: platform.gatewayUrl,
      CUSTOMER_PLATFORM_KEY: account.testKey,
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const one = {
    child,
    output: () => output,
    ended: new Promise<number | null>((resolve) => child.on('close', resolve)),
  };
  runs.push(one);
  return one;
}

/** Runs a program that must succeed. Returns its output. */
async function expectDone(args: string[]): Promise<string> {
  const one = run(args);
  const code = await one.ended;
  expect(code === 0 ? 'done' : one.output()).toBe('done');
  return one.output();
}

async function statusOf(url: string): Promise<number> {
  try {
    return (await fetch(url, { method: 'POST' })).status;
  } catch {
    return 0;
  }
}
