import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Receiver, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openTool, type Tool } from '../../test/tool.ts';
import { verifyWebhook } from '../index.ts';
import { commands } from './commands/index.ts';

/** A stand-in for the API, and a customer's server. */
let api: Receiver;
let hook: Receiver;
let tool: Tool;
let streams: ServerResponse[];

beforeEach(async () => {
  [api, hook] = [await startReceiver(), await startReceiver()];
  streams = [];
  api.respond = ({ method, path }, response) => {
    if (path === '/v1/me') return void response.end(JSON.stringify(me));
    if (path.startsWith('/v1/events/stream')) return open(response);
    if (path.startsWith('/v1/events?'))
      return void response.end(JSON.stringify({ data: [{ sequence: 40 }], next: null }));
    return void response.writeHead(404).end(JSON.stringify(refusal('not_found', `no ${method} ${path}`)));
  };
  tool = openTool({ CUSTOMER_PLATFORM_URL: api.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key' });
});
afterEach(async () => {
  tool.remove();
  await Promise.all([api.stop(), hook.stop()]);
});

const me = { account: { id: 'a1', name: 'Acme\u001b[31m' }, mode: 'test' };
const refusal = (code: string, message: string, field?: string) => ({ error: { code, message, field } });

function open(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': welcome\n\n');
  streams.push(response);
}

const textOf = (sequence: number) =>
  JSON.stringify({
    id: `e${sequence}`,
    type: 'order.created',
    timestamp: '2026-11-20T09:00:00Z',
    data: { order: { total: 1.0e21 } },
  });

/** Sends an event over stream number `streamCount`, once it is open. */
async function send(sequence: number, streamCount = 1): Promise<void> {
  const stream = await waitFor('a stream', () => streams[streamCount - 1]);
  stream.write(`id: ${sequence}\nevent: order.created\ndata: ${textOf(sequence)}\n\n`);
}

describe('listen', () => {
  const args = (...more: string[]) => ['listen', '--forward-to', `${hook.url}/hook`, ...more];

  it('forwards each event as the platform delivers it, signed with the secret that it prints, and shows the response', async () => {
    const run = tool.start(args('--events', 'order.*,contact.created'));
    await run.prints(/Ready/);
    await send(41);
    const received = await hook.next();
    const [secret] = /whsec_\S+/.exec(run.err())!;
    expect(received).toMatchObject({ method: 'POST', path: '/hook', body: textOf(41) });
    expect(await verifyWebhook(received.headers, received.body, secret)).toMatchObject({ id: 'e41' });
    const headers = { 'webhook-id': 'e41', 'webhook-sequence': '41', 'content-type': 'application/json' };
    expect(received.headers).toMatchObject(headers);
    await run.prints(/^41 {2}order\.created {2}e41 → 204 in \d+ ms$/m);
    expect(api.received.map(({ path }) => path)).toContain('/v1/events/stream?types=order.*%2Ccontact.created');
    expect(run.err()).toContain('of Acme\\u{1b}[31m (test) to');
    run.interrupt();
    expect(await run.end()).toMatchObject({ code: 0 });
  });

  it('continues after a rejected or failed delivery, and shows why', async () => {
    hook.respond = (_request, response) => response.writeHead(500).end('no \u001b[2J such order');
    const run = tool.start(args());
    await send(41);
    await run.prints(/e41 → 500 in \d+ ms: no \\u\{1b\}\[2J such order/);
    hook.respond = (_request, response) => response.writeHead(302, { location: `${api.url}/elsewhere` }).end();
    await send(42);
    await run.prints(/e42 → 302/);
    await hook.stop();
    await send(43);
    await run.prints(/e43 → failed: POST http.{0,60}ECONNREFUSED/);
    run.interrupt();
    expect((await run.end()).code).toBe(0);
    hook = await startReceiver();
  });

  it('continues in the next run with the same secret; --latest and --after start elsewhere', async () => {
    const first = tool.start(args());
    await send(41);
    await first.prints(/e41 → 204/);
    first.interrupt();
    await first.end();
    const starts: [string[], string][] = [
      [[], '41'],
      [['--latest'], '40'],
      [['--after', '7'], '7'],
      [['--events', 'order.*'], '40'],
    ];
    const secrets = [/whsec_\S+/.exec(first.err())![0]];
    for (const [more, after] of starts) {
      const run = tool.start(args(...more));
      const count = streams.length + 1;
      await waitFor('a stream', () => streams.length === count);
      expect(api.received.at(-1)!.headers['last-event-id']).toBe(after);
      run.interrupt();
      await run.end();
      secrets.push(/whsec_\S+/.exec(run.err())![0]);
    }
    expect(new Set(secrets).size).toBe(1);
  });

  it('resumes a broken stream', async () => {
    const run = tool.start(args('--json'));
    await send(41);
    await hook.next();
    streams[0]!.destroy();
    await send(42, 2);
    await run.prints(/"sequence":42/);
    run.interrupt();
    const { out } = await run.end();
    const told = { type: 'order.created', status: 204, error: null };
    expect(JSON.parse(`[${out.trim().replaceAll('\n', ',')}]`)).toMatchObject([
      { ready: true, after: 40, secret: expect.stringMatching(/^whsec_/) },
      { sequence: 41, id: 'e41', ...told },
      { sequence: 42, id: 'e42', ...told },
    ]);
  });

  it('stops reading a long response early', async () => {
    let isCut = false;
    hook.respond = (_request, response) => {
      response.writeHead(500).on('close', () => (isCut = true));
      const more = () => void (response.closed || response.write('x'.repeat(65_536), more));
      more();
    };
    const run = tool.start(args());
    await send(41);
    await run.prints(/e41 → 500 in \d+ ms: x{150,200}…$/m);
    await waitFor('its end', () => isCut);
    run.interrupt();
    await run.end();
  });

  it('refuses a future --after, and reports that the API refuses the stream', async () => {
    expect(await tool.run(args('--after', '41'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^--after must be at most 40, the sequence of the last event, not 41\n/),
    });
    const { respond } = api;
    api.respond = (request, response) => {
      if (!request.path.startsWith('/v1/events/stream')) return void respond(request, response);
      response.writeHead(400).end(JSON.stringify(refusal('invalid_request', 'types[0] must be a kind')));
    };
    expect(await tool.run(args('--events', 'order.bogus'))).toMatchObject({
      code: 1,
      err: 'refused (400 invalid_request): types[0] must be a kind\n',
    });
  });
});

describe('events tail', () => {
  it('shows each event with its sequence, and with --json as JSON', async () => {
    const [plain, json] = [
      tool.start(['events', 'tail', '-e', 'order.*']),
      tool.start(['events', 'tail', '--json', '--after', '3']),
    ];
    await waitFor('two streams', () => streams.length === 2);
    await Promise.all([send(41, 1), send(41, 2)]);
    await plain.prints(/^Ready$/m);
    await plain.prints(/^41 {2}2026-11-20T09:00:00Z {2}order\.created {2}e41 {2}\{"order":/m);
    await json.prints(/\n/);
    expect(JSON.parse(json.out())).toMatchObject({ id: 'e41', sequence: 41 });
    for (const run of [plain, json]) run.interrupt();
    expect([(await plain.end()).code, (await json.end()).code]).toEqual([0, 0]);
  });

  it('ends when the API refuses it', async () => {
    api.respond = (_request, response) =>
      response.writeHead(403).end(JSON.stringify(refusal('scope_missing', 'webhooks:read')));
    expect(await tool.run(['events', 'tail', '--after', '0'])).toMatchObject({
      code: 1,
      err: 'refused (403 scope_missing): webhooks:read\n',
    });
  });
});

describe('clock', () => {
  it('advances by a duration or to a time, and waits until it is ready', async () => {
    const states = [
      { now: '2026-11-20T09:00:00Z', status: 'ready', target: null },
      { now: '2026-11-20T09:00:00Z', status: 'advancing', target: '2026-11-22T09:00:00.000Z' },
      { now: '2026-11-21T09:00:00Z', status: 'advancing', target: '2026-11-22T09:00:00.000Z' },
      { now: '2026-11-22T09:00:00Z', status: 'ready', target: null },
    ];
    api.respond = (_request, response) => response.end(JSON.stringify(states.length > 1 ? states.shift() : states[0]));
    expect(await tool.run(['clock', 'advance', '1d24h'])).toMatchObject({ code: 0, out: '2026-11-22T09:00:00Z\n' });
    const [read, advanced] = api.received;
    expect([read!.method, read!.path]).toEqual(['GET', '/v1/sandbox/clock']);
    expect([advanced!.method, advanced!.body]).toEqual(['POST', '{"advance_to":"2026-11-22T09:00:00.000Z"}']);
    await tool.run(['clock', 'advance', '2027-01-01T00:00:00+01:00']);
    expect(api.received.at(-1)!.body).toBe('{"advance_to":"2027-01-01T00:00:00+01:00"}');
    expect((await tool.run(['clock', '--json'])).out).toBe(
      '{"now":"2026-11-22T09:00:00Z","status":"ready","target":null}\n',
    );
    for (const wrong of ['2', 'd', '2d3', '-1d', '999999999w', 'tomorrow']) {
      expect(await tool.run(['clock', 'advance', '--', wrong])).toMatchObject({ code: 2, out: '' });
    }
  });
});

describe('trigger', () => {
  it('sends an example of a kind', async () => {
    api.respond = (_request, response) => response.writeHead(202).end(textOf(41));
    const run = await tool.run(['trigger', 'order.created']);
    expect(run).toMatchObject({ code: 0, out: 'order.created e41 was sent\n' });
    const sent = { method: 'POST', path: '/v1/events/trigger', body: '{"type":"order.created"}' };
    expect(api.received[0]).toMatchObject(sent);
  });
});

it.each([
  [['clock'], 'clock needs a test key, cp_test_…: a live account uses real time\n'],
  [['trigger', 'order.created'], 'trigger needs a test key, cp_test_…: a live account gets no example events\n'],
])('%j refuses a live key', async (args, err) => {
  const env = { CUSTOMER_PLATFORM_KEY: 'cp_live_key' };
  expect(await tool.run(args, { env })).toMatchObject({ code: 1, err });
});

describe('request', () => {
  it('sends any path only to the API, with one query string', async () => {
    api.respond = (_request, response) => response.end('{}');
    const { host } = new URL(hook.url);
    for (const path of [`//${host}/v1/me`, `/@${host}/v1/me`, `/\\${host}/v1/me`, '/v1/me?a=1']) {
      expect(await tool.run(['request', 'GET', path, '-q', 'b=2'])).toMatchObject({ code: 0 });
    }
    expect(hook.received).toEqual([]);
    expect(api.received.map(({ path }) => path)).toEqual([
      `//${host}/v1/me?b=2`,
      `/@${host}/v1/me?b=2`,
      `//${host}/v1/me?b=2`,
      '/v1/me?a=1&b=2',
    ]);
  });
});

describe('the tool', () => {
  it('has help for itself and for each command, with examples', async () => {
    const { code, out } = await tool.run(['--help']);
    const names = out
      .split('\n')
      .slice(1)
      .flatMap((line) => /^ {2}([a-z ]+?)(?: {2,}| <)/.exec(line)?.[1] ?? []);
    expect([code, names]).toEqual([0, commands.map(({ name }) => name)]);
    for (const name of names) {
      const help = await tool.run([...name.split(' '), '--help']);
      expect([help.code, help.out.includes('Examples:\n  customer-platform')]).toEqual([0, true]);
    }
  }, 120_000);

  it('exits with 2 and the usage for wrong arguments', async () => {
    const wrong = [
      [],
      ['appointments'],
      ['listen', '--forward'],
      ['listen', '--forward-to', 'localhost:3000'],
      ['listen', '--forward-to', 'ftp://localhost'],
      ['listen', '--forward-to', ''],
      ['login', '--url', 'localhost'],
      ['clock', 'advance'],
      ['trigger', 'a', 'b'],
      ['request', 'FETCH', '/v1/me'],
      ['request', 'GET', 'v1/me'],
      ['request', 'POST', '/v1/me', '-d', '{'],
      ['request', 'GET', '/v1/me', '-q', 'limit'],
      ['request', 'GET', '/v1/me', '-q', 'limit=1', '-q', 'limit=2'],
      ['events', 'tail', '--after', '-1'],
      ['deliveries', 'list', '--limit', '101'],
    ];
    for (const args of wrong) {
      const { code, out, err } = await tool.run(args);
      expect([args, code, out, err.includes('customer-platform')]).toEqual([args, 2, '', true]);
    }
    expect(api.received).toEqual([]);
  }, 120_000);

  it('suggests commands and flags for wrong or missing ones, and prints its version', async () => {
    const lineOf = async (...words: string[]) => (await tool.run(words)).err.split('\n')[0];
    expect(await lineOf('appointments', 'list')).toBe('There is no command "appointments list"');
    const near = [
      ['logn', 'login'],
      ['contact import', 'contacts import'],
      ['webhooks crate', 'webhooks create'],
      ['trigr order.created', 'trigger'],
      ['lissten --latest', 'listen'],
    ];
    for (const [given, meant] of near) {
      const line = await lineOf(...given!.split(' '));
      expect(line).toMatch(/^There is no command "/);
      expect(line).toContain(`"; did you mean ${meant}?`);
    }
    expect(await lineOf('trigger')).toBe('trigger takes <kind>');
    expect(await lineOf('listen', '--forward-to', 'localhost:3000')).toBe(
      '--forward-to must be the URL of your server, such as http://localhost:3000/hook',
    );
    expect(await lineOf('events', 'tail', '--event', 'a')).toBe(
      'There is no flag --event; the flags are --events, --after, --json, --help',
    );
    const more = /^deliveries needs a subcommand:\n {2}deliveries list .*\n {2}deliveries resend <delivery> /;
    expect(await tool.run(['deliveries'])).toMatchObject({ code: 2, err: expect.stringMatching(more) });
    expect(await tool.run(['--version'])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it('names the address if the platform does not respond there', async () => {
    api.respond = (_request, response) => response.writeHead(404).end('<h1>Not found</h1>');
    expect((await tool.run(['request', 'GET', '/v1/me'])).err).toBe(
      `GET ${api.url}/v1/me: the response with status 404 does not come from the API; is the platform running there?\n`,
    );
    const { err } = await tool.run(['request', 'GET', '/v1/me'], { env: { CUSTOMER_PLATFORM_URL: `${api.url}/v1` } });
    expect(err).toMatch(/^CUSTOMER_PLATFORM_URL must be the API's address without \/v1, /);
    const none = await tool.run(['request', 'GET', '/v1/me'], { env: { CUSTOMER_PLATFORM_URL: 'localhost' } });
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('CUSTOMER_PLATFORM_URL must be') });
  });

  it('prints JSON that is safe for a terminal and unchanged for programs', async () => {
    const name = '\u009b2J\u001b[2J\u202eevil\u{e0041} Zoë';
    api.respond = (_request, response) => response.end(JSON.stringify({ id: 'c1', name }));
    const { out } = await tool.run(['request', 'GET', '/v1/cdp/contacts/c1', '--json']);
    expect(JSON.parse(out)).toEqual({ id: 'c1', name });
    expect(out).toBe('{"id":"c1","name":"\\u009b2J\\u001b[2J\\u202eevil\\udb40\\udc41 Zoë"}\n');
  });

  it('sends a stored key only to the address it was stored with', async () => {
    const stored = { CUSTOMER_PLATFORM_KEY: '', CUSTOMER_PLATFORM_URL: '' };
    expect(await tool.run(['request', 'GET', '/v1/me'], { env: stored })).toMatchObject({
      code: 1,
      err: expect.stringContaining('login'),
    });
    const login = await tool.run(['login', '--url', api.url], { env: stored, input: 'cp_test_stored\n' });
    expect(login).toMatchObject({ code: 0, out: expect.stringContaining('Logged in to Acme\\u{1b}[31m (test)') });
    const [file] = readdirSync(join(tool.folder, 'customer-platform'));
    expect(statSync(join(tool.folder, 'customer-platform', file!)).mode & 0o777).toBe(0o600);
    expect(await tool.run(['request', 'GET', '/v1/me'], { env: stored })).toMatchObject({ code: 0 });
    expect(api.received.at(-1)!.headers.authorization).toBe('Bearer cp_test_stored');
    const count = api.received.length;
    const elsewhere = { ...stored, CUSTOMER_PLATFORM_URL: hook.url };
    expect(await tool.run(['request', 'GET', '/v1/me'], { env: elsewhere })).toMatchObject({ code: 1 });
    expect([hook.received, api.received.length]).toEqual([[], count]);
    await tool.run(['logout'], { env: stored });
    expect(readdirSync(join(tool.folder, 'customer-platform'))).toEqual([]);
  });

  it('does not store a key that the API refuses or that is malformed', async () => {
    api.respond = (_request, response) =>
      response.writeHead(401).end(JSON.stringify(refusal('invalid_key', 'mistyped')));
    expect(await tool.run(['login', '--url', api.url], { input: 'cp_test_wrong' })).toMatchObject({
      code: 1,
      err: 'refused (401 invalid_key): mistyped\n',
    });
    for (const input of ['', 'two words', 'x'.repeat(1_001)]) {
      expect(await tool.run(['login', '--url', api.url], { input })).toMatchObject({ code: 2 });
    }
    expect(readdirSync(tool.folder)).toEqual([]);
  });

  it('reports a broken settings file', async () => {
    const env = { CUSTOMER_PLATFORM_KEY: '', CUSTOMER_PLATFORM_URL: '' };
    await tool.run(['login', '--url', api.url], { env, input: 'cp_test_stored' });
    const file = join(tool.folder, 'customer-platform/credentials.json');
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, 5));
    const { code, out } = await tool.run(['request', 'GET', '/v1/me', '--json'], { env });
    const error = { code: 'not_set_up', message: expect.stringContaining(file) };
    expect([code, JSON.parse(out)]).toMatchObject([1, { error }]);
  });
});
