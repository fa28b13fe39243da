import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { failingEndpoint, liveProcess, page, queue } from '../test/operator-fixtures.ts';
import { type StandInControlPlane, standInNow, startStandInControlPlane } from '../test/stand-in-control-plane.ts';
import { runCommand } from './cli.ts';
import { drawTop } from './top.ts';

const token = 'a token of the operators, long enough';
const program = join(import.meta.dirname, 'cli.ts');
const [enter, leave] = ['\u001b[?1049h', '\u001b[?1049l'];
let plane: StandInControlPlane;
const children: ChildProcess[] = [];
const inputs: PassThrough[] = [];

beforeAll(async () => {
  plane = await startStandInControlPlane(token);
});
beforeEach(() => {
  plane.reset();
  plane.give('listQueues', { data: [queue({ ready: 4711, lag_seconds: 90 })], gone: [] });
  plane.give('listEndpoints', { ...page(failingEndpoint({})), gone: [] });
  plane.give('listServices', { data: [liveProcess({})], gone: ['crm'] });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const input of inputs.splice(0)) input.destroy();
});
afterAll(async () => await plane.stop());

const env = () => ({ ADMIN_URL: plane.url, ADMIN_TOKEN: token });

/** Starts the tool as a process, under a real terminal of 20 rows and 100 columns where `isTerminal`. */
function start(args: string[], isTerminal: boolean, preloaded?: string) {
  const node = preloaded === undefined ? [process.execPath] : [process.execPath, '--import', preloaded];
  const quoted = [...node, program, ...args].map((each) => `'${each}'`).join(' ');
  const command = `stty rows 20 cols 100; before=$(stty -g); ${quoted}; code=$?; [ "$before" = "$(stty -g)" ] && echo restored $code`;
  const [file, given] = isTerminal
    ? ['script', ['-qec', command, '/dev/null']]
    : [process.execPath, [program, ...args]];
  const child = spawn(file as string, given as string[], { env: { ...process.env, ...env() } });
  children.push(child);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, text: () => text, ended };
}

/** Returns how many times the view was drawn: each begins at the top left. */
function framesIn(text: string): number {
  return text.split('\u001b[H').length - 1;
}

/** A terminal that is none of a process, to look at from within. */
function fakeTerminal() {
  const rawModes: boolean[] = [];
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => rawModes.push(isRaw) });
  inputs.push(input);
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 20 });
  let text = '';
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { input, output, rawModes, text: () => text };
}

describe('top at a terminal', () => {
  it.each([
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ])('redraws until %s, and then restores the terminal', async (_name, key) => {
    const { child, text, ended } = start(['top'], true);
    await waitFor('two frames', () => framesIn(text()) >= 2);
    const shown = text();
    expect(shown).toContain('webhooks deliveries: lags by 1m');
    expect(shown).toContain('crm does not respond');
    expect(shown).toContain('503 Service Unavailable');
    child.stdin.write(key);
    expect(await ended).toBe(0);
    expect(text()).toMatch(/restored 0\s*$/);
    expect(text().indexOf(enter)).toBeGreaterThanOrEqual(0);
    expect(text().indexOf(leave)).toBeGreaterThan(text().indexOf(enter));
  });

  it('restores the terminal when a signal ends it', async () => {
    const { input, output, rawModes, text } = fakeTerminal();
    const outcome = runCommand(['top'], env(), tmpdir(), { input, output });
    await waitFor('a frame', () => text().includes('4711'));
    process.emit('SIGTERM');
    expect(await outcome).toEqual({ exitCode: 0, output: '' });
    expect(rawModes).toEqual([true, false]);
    expect(text().endsWith(leave)).toBe(true);
    expect([process.listenerCount('SIGTERM'), input.listenerCount('keypress')]).toEqual([0, 0]);
  });

  it('restores the terminal when the tool fails', async () => {
    const fail = 'process.stdin.on("keypress", (text) => { if (text === "x") throw new Error("boom"); });';
    const { child, text, ended } = start(['top'], true, `data:text/javascript,${encodeURIComponent(fail)}`);
    await waitFor('a frame', () => text().includes('4711'));
    child.stdin.write('x');
    await ended;
    expect(text()).toContain('boom');
    expect(text()).toMatch(/restored 1\s*$/);
    expect(text().lastIndexOf(leave)).toBeGreaterThan(text().indexOf(enter));
  });

  it('redraws when the terminal changes its size', async () => {
    const { input, output, text } = fakeTerminal();
    const outcome = runCommand(['top'], env(), tmpdir(), { input, output });
    await waitFor('a frame', () => text().includes('4711'));
    output.columns = 20;
    output.emit('resize');
    await waitFor('a narrow frame', () => text().includes('webhooks deliveries…'));
    input.write('q');
    await outcome;
  });

  it('says from its first frame on that it has no response yet', async () => {
    for (const key of ['listQueues', 'listEndpoints', 'listServices'] as const) plane.held.add(key);
    const { input, output, text } = fakeTerminal();
    const outcome = runCommand(['top'], env(), tmpdir(), { input, output });
    await waitFor('a frame', () => framesIn(text()) > 0);
    expect(text()).toContain('waiting for the first response');
    expect(text()).not.toContain('nothing needs attention');
    input.write('q');
    await outcome;
  });

  it('shows a refusal and goes on', async () => {
    const { input, output, text } = fakeTerminal();
    const outcome = runCommand(['top'], env(), tmpdir(), { input, output });
    await waitFor('a frame', () => text().includes('4711'));
    plane.respondWith('listQueues', 503, { error: { code: 'rate_limited', message: 'Too many' } });
    await waitFor('the refusal', () => text().includes('! rate_limited: Too many'));
    expect(text().slice(text().indexOf('! rate_limited'))).toContain('4711');
    const before = text().length;
    plane.respondWith('listQueues', 200, { data: [queue({ ready: 815 })], gone: [] });
    await waitFor('a frame without it', () => text().slice(before).includes('815'));
    input.write('q');
    expect((await outcome).exitCode).toBe(0);
  });

  it('gives up what has no response within its deadline, and goes on', async () => {
    for (const key of ['listQueues', 'listEndpoints', 'listServices'] as const) plane.held.add(key);
    const { input, output, text } = fakeTerminal();
    const outcome = runCommand(['top'], env(), tmpdir(), { input, output });
    const requests = await new Promise((resolve) => {
      output.on('data', () => text().includes('no response from the control plane') && resolve(plane.seen.length));
    });
    expect(requests).toBe(3);
    plane.held.clear();
    await waitFor('a frame', () => text().includes('4711'));
    input.write('q');
    await outcome;
  });

  it('says how much more needs attention than there is room for', () => {
    const queues = {
      data: Array.from({ length: 30 }, (_, index) => queue({ queue: `queue-${index}`, dead: 1 })),
      gone: [],
    };
    const now = new Date('2026-11-20T12:00:00.000Z');
    const lines = drawTop('http://plane', { queues, raw: {}, now, errors: [] }, { columns: 60, rows: 20 });
    expect(lines).toHaveLength(20);
    expect(lines.filter((line) => /^webhooks queue-\d+: 1 dead$/.test(line))).toHaveLength(7);
    expect(lines[8]).toBe('and 23 more');
    const calm = drawTop('http://plane', { raw: {}, now, errors: [] }, { columns: 60, rows: 20 });
    expect(calm).toContain('nothing needs attention');
  });

  it('says once that a service is gone, or the bus, whatever lacks it', () => {
    const now = new Date('2026-11-20T12:00:00.000Z');
    const endpoints = { data: [], has_more: false as const, next: null };
    const drawn = (gone: 'crm'[] | 'gateway'[]) => {
      const parts = { queues: { data: [], gone }, endpoints: { ...endpoints, gone }, services: { data: [], gone } };
      return drawTop('http://plane', { ...parts, raw: {}, now, errors: [] }, { columns: 80, rows: 20 });
    };
    expect(drawn(['crm']).filter((line) => line.includes('respond'))).toEqual([
      'crm does not respond: its processes are not listed',
    ]);
    expect(drawn(['gateway']).filter((line) => line.includes('respond'))).toEqual([
      'NATS does not respond: services may be well',
    ]);
  });

  it('is refused without a terminal', async () => {
    const { ended, text } = start(['top'], false);
    expect([await ended, text()]).toEqual([2, '']);
    const within = await runCommand(['top'], env(), tmpdir(), { input: new PassThrough(), output: new PassThrough() });
    expect(within).toEqual({ exitCode: 2, output: expect.stringMatching(/^top needs a terminal, or --json/) });
  });
});

describe('top --json', () => {
  const parts = { queues: { gone: [] }, endpoints: { has_more: false }, services: { gone: ['crm'] }, errors: [] };

  type Line = { queues: unknown; endpoints: unknown; services: unknown; errors: unknown[] };
  const wholeLines = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);

  it('prints a line of JSON a second until a signal ends it', async () => {
    const { child, text, ended } = start(['top', '--json'], false);
    await waitFor('two lines', () => wholeLines(text()).length > 1);
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    for (const line of wholeLines(text())) expect(line).toMatchObject({ at: standInNow.toISOString(), ...parts });
  });

  it('ends when nothing reads its lines any more', async () => {
    const { child, text, ended } = start(['top', '--json'], false);
    await waitFor('a line', () => text().includes('\n'));
    child.stdout.destroy();
    expect(await ended).toBe(0);
  });

  it('has null and the reason for what is refused', async () => {
    plane.respondWith('listEndpoints', 503, { error: { code: 'service_unavailable', message: 'webhooks is down' } });
    const { text } = start(['top', '--json'], false);
    const line = await waitFor('a line', () => wholeLines(text())[0]);
    expect(line).toMatchObject({
      queues: { data: [{ ready: 4711 }] },
      endpoints: null,
      errors: [{ operation: 'listEndpoints', code: 'service_unavailable', message: 'webhooks is down' }],
    });
  });
});
