import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { failingEndpoint, liveProcess, page, queue } from '../test/operator-fixtures.ts';
import { standInNow, useStandIn } from '../test/stand-in-control-plane.ts';
import { runCommand } from './cli.ts';

const program = join(import.meta.dirname, 'cli.ts');
const [enter, leave] = ['\u001b[?1049h', '\u001b[?1049l'];
const { plane, env } = useStandIn();
const operations = ['listQueues', 'listEndpoints', 'listServices', 'listAttention'] as const;
const children: ChildProcess[] = [];

beforeEach(() => {
  plane.give('listQueues', { data: [queue({ ready: 4711, lag_seconds: 90 })], gone: ['crm'] });
  plane.give('listEndpoints', { ...page(failingEndpoint({})), gone: [] });
  plane.give('listServices', { data: [liveProcess({})], gone: ['crm'] });
  const addresses = [{ address: '203.0.113.7', invalid_keys: 130, last_at: standInNow.toISOString() }];
  plane.give('listAttention', { accounts: [], channels: [], endpoints: [], addresses, gone: [] });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Starts a program. `text` returns its output so far. */
function start(file: string, args: string[]) {
  const child = spawn(file, args, { env: { ...process.env, ...env() } });
  children.push(child);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, text: () => text, ended };
}

/** Starts the live view in this process with a fake terminal. `last` returns the latest frame; each begins at the top left. */
function startWithin() {
  const rawModes: boolean[] = [];
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => rawModes.push(isRaw) });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 20 });
  let text = '';
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const outcome = runCommand(['top'], env(), tmpdir(), { input, output });
  return { input, rawModes, outcome, text: () => text, last: () => text.split('\u001b[H').at(-1)! };
}

describe('top at a terminal', () => {
  it.each([
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ])('redraws until %s, then restores the terminal', async (_name, key) => {
    const top = `'${process.execPath}' '${program}' top`;
    const command = `stty rows 20 cols 100; before=$(stty -g); ${top}; code=$?; [ "$before" = "$(stty -g)" ] && echo restored $code`;
    const { child, text, ended } = start('script', ['-qec', command, '/dev/null']);
    await waitFor('two frames', () => text().split('4711').length > 2);
    const queues = ['webhooks deliveries: lags by 1m', 'crm does not respond', '503 Service Unavailable'];
    for (const finding of [...queues, 'customers (attention): addresses 1']) expect(text()).toContain(finding);
    child.stdin.write(key);
    expect(await ended).toBe(0);
    expect(text()).toMatch(/restored 0\s*$/);
    expect(text().indexOf(enter)).toBeGreaterThanOrEqual(0);
    expect(text().indexOf(leave)).toBeGreaterThan(text().indexOf(enter));
  });

  it('has no colors with NO_COLOR, wraps an error uncut, and only counts empty queues', async () => {
    const error = 'connect ECONNREFUSED 203.0.113.9:443 after 15,000 ms, 8 bytes read of what their proxy sent';
    plane.give('listEndpoints', { ...page(failingEndpoint({ last_error: error })), gone: [] });
    const empty = ['messages', 'receipts'].map((name) => queue({ queue: name }));
    plane.give('listQueues', { data: [queue({ ready: 4711 }), ...empty], gone: [] });
    const command = `stty rows 20 cols 80; NO_COLOR=1 TERM=xterm-256color '${process.execPath}' '${program}' top`;
    const { child, text, ended } = start('script', ['-qec', command, '/dev/null']);
    await waitFor('a frame', () => text().includes('2 queues are empty'));
    child.stdin.write('q');
    expect(await ended).toBe(0);
    expect(text()).not.toContain('\u001b[33m');
    expect(text()).not.toContain('receipts');
    expect(text().replaceAll('\u001b[K', '').replaceAll('\r', '').replaceAll('\n', ' ')).toContain(error);
  });

  it('restores the terminal when a signal ends it', async () => {
    const { rawModes, outcome, text } = startWithin();
    await waitFor('a frame', () => text().includes('4711'));
    process.emit('SIGTERM');
    expect(await outcome).toEqual({ exitCode: 0, output: '' });
    expect(rawModes).toEqual([true, false]);
    expect(text().endsWith(leave)).toBe(true);
  });

  it('shows an error with the previous data, and continues', async () => {
    const { input, outcome, last } = startWithin();
    await waitFor('a frame', () => last().includes('4711'));
    plane.respondWith('listQueues', 503, { error: { code: 'rate_limited', message: 'Too many' } });
    await waitFor('the refusal', () => last().includes('! rate_limited: Too many'));
    expect(last()).toContain('4711');
    plane.respondWith('listQueues', 200, { data: [queue({ ready: 815 })], gone: [] });
    await waitFor('a frame without it', () => last().includes('815') && !last().includes('rate_limited'));
    input.write('q');
    expect((await outcome).exitCode).toBe(0);
  });

  it('says that it waits for the first response, times out requests, and continues', async () => {
    for (const key of operations) plane.held.add(key);
    const { input, outcome, last } = startWithin();
    await waitFor('a frame', () => last().includes('waiting for the first response'));
    await waitFor('an end', () => last().includes('no response from the control plane'), 15_000);
    plane.held.clear();
    await waitFor('a frame', () => last().includes('4711'));
    input.write('q');
    await outcome;
  });

  it('names a gone service once, and counts the problems that do not fit', async () => {
    const data = Array.from({ length: 30 }, (_, index) => queue({ queue: `queue-${index}`, dead: 1 }));
    plane.give('listQueues', { data, gone: ['crm'] });
    const { input, outcome, last } = startWithin();
    await waitFor('a frame', () => last().includes('1 dead'));
    const lines = last().split('\u001b[K\r\n');
    expect(lines).toHaveLength(20);
    expect(lines.filter((line) => line.includes('respond'))).toEqual([
      '\u001b[33mcrm does not respond: its processes are not listed\u001b[39m',
    ]);
    expect(lines[9]).toBe('and 26 more');
    input.write('q');
    await outcome;
  });
});

describe('top --json', () => {
  const wholeLines = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as unknown);

  it('prints a line of JSON per second until a signal ends it, with null and the error for a refused request', async () => {
    plane.respondWith('listEndpoints', 503, { error: { code: 'service_unavailable', message: 'webhooks is down' } });
    const { child, text, ended } = start(process.execPath, [program, 'top', '--json']);
    await waitFor('two lines', () => wholeLines(text()).length > 1);
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    for (const line of wholeLines(text())) {
      expect(line).toMatchObject({
        at: standInNow.toISOString(),
        queues: { data: [{ ready: 4711 }] },
        endpoints: null,
        services: { gone: ['crm'] },
        attention: { addresses: [{ invalid_keys: 130 }] },
        errors: [{ operation: 'listEndpoints', code: 'service_unavailable', message: 'webhooks is down' }],
      });
    }
  });

  it('ends when its output is closed', async () => {
    const { child, text, ended } = start(process.execPath, [program, 'top', '--json']);
    await waitFor('a line', () => text().includes('\n'));
    child.stdout.destroy();
    expect(await ended).toBe(0);
  });
});
