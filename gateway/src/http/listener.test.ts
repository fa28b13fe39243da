import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createLogger } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type RawReply, sendRaw } from '../../test/raw-http.ts';
import { SlowClient } from '../../test/slow-client.ts';
import { listenWithEnvelopes } from './listener.ts';

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ services: [] });
});

afterAll(async () => {
  await platform?.stop();
});

function expectRefusal(reply: RawReply, status: number, field?: string): void {
  expect(reply.status).toBe(status);
  const error = { code: 'invalid_request', message: expect.any(String), ...(field ? { field } : {}) };
  expect(JSON.parse(reply.body)).toEqual({ error });
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(reply.headers['request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
  expect(reply.headers.connection).toBe('close');
  expectProtected(reply);
}

function expectProtected({ headers }: RawReply): void {
  expect([headers['cache-control'], headers['x-content-type-options']]).toEqual(['no-store', 'nosniff']);
}

describe.each([
  ['the public port', () => platform.gatewayUrl],
  ['the control plane', () => platform.adminUrl],
])('%s', (_name, url) => {
  const send = (...lines: string[]) => sendRaw(url(), [...lines, '', ''].join('\r\n'));

  it('refuses what is not HTTP with an envelope and a request id', async () => {
    expectRefusal(await send('NONSENSE'), 400);
    expectRefusal(await send('GET /healthz HTTP/1.1', 'Host: x', `X-Long: ${'x'.repeat(4_000_000)}`), 431);
  });

  it('refuses a request without Host in the same way, except with HTTP/1.0', async () => {
    expectRefusal(await send('GET /healthz HTTP/1.1'), 400);
    expectRefusal(await send('POST /healthz HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 2'), 400);
    expect((await send('GET /healthz HTTP/1.0')).status).toBe(200);
  });

  it('refuses a request with two Hosts or two Idempotency-Keys in the same way', async () => {
    expectRefusal(await send('GET /healthz HTTP/1.1', 'Host: x', 'X-Other: y', 'hOST: x'), 400, 'Host');
    expectRefusal(await send('GET /healthz HTTP/1.0', 'Host: x', 'Host: y'), 400, 'Host');
    const keys = ['Idempotency-Key: a', 'idempotency-key: a'];
    expectRefusal(await send('POST /healthz HTTP/1.1', 'Host: x', ...keys), 400, 'Idempotency-Key');
  });

  it('accepts 500 headers and refuses more, with everything that follows: Node drops later headers, such as Content-Length', async () => {
    const empty = (count: number) => Array.from({ length: count }, () => 'a:');
    const get = (...lines: string[]) => send('GET /healthz HTTP/1.1', 'Host: x', ...lines);
    expect((await get(...empty(498), 'Connection: close')).status).toBe(200);
    expectRefusal(await get(...empty(499), 'Connection: close'), 431);
    for (const count of [998, 999, 1_000]) {
      const smuggled = ['GET /healthz HTTP/1.1', 'Host: x', 'Connection: close', '', ''].join('\r\n');
      const reply = await get(...empty(count), `Content-Length: ${smuggled.length}`, '', smuggled);
      expectRefusal(reply, 431);
      expect(reply.all.match(/HTTP\/1\.1/g)).toHaveLength(1);
    }
  });

  it.each([
    ['http://other/healthz', 200],
    ['HTTPS://Other.example:8443/healthz?probe=1', 200],
    ['http://[2001:db8::1]:80/healthz', 200],
    ['http://other/none?a=http://b//c', 401],
    ['http://other//healthz', 400],
    ['http://other/../healthz', 400],
    ['http://other/x/%2e%2e/healthz', 400],
    ['http://other/healthz#top', 400],
    ['http://name:secret@other/healthz', 400],
    ['http://other\\@there/healthz', 400],
    ['http://other:port/healthz', 400],
    ['http:///healthz', 400],
    ['http://', 400],
    ['ftp://other/healthz', 400],
    ['other/healthz', 400],
    ['*', 400],
  ])('responds to the target %s with status %i', async (target, status) => {
    const reply = await send(`GET ${target} HTTP/1.1`, 'Host: x', 'Connection: close');
    if (status === 400) expectRefusal(reply, 400);
    else expect([reply.status, reply.all.includes('"status":"ok"')]).toEqual([status, status === 200]);
    expect((await send(`GET ${target} HTTP/1.1`)).status).toBe(400);
  });

  it.each(['*', 'http://other'])('responds to OPTIONS of %s with its methods', async (target) => {
    const { status, headers } = await send(`OPTIONS ${target} HTTP/1.1`, 'Host: x', 'Connection: close');
    expect([status, headers.allow]).toEqual([204, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']);
    expect(headers['request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('forbids caching and sniffing of every response', async () => {
    const get = (path: string, ...lines: string[]) =>
      send(`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines);
    for (const path of ['/healthz', '/readyz', '/v1/me', '/none', '/v1/openapi.jsonx'])
      expectProtected(await get(path));
    expectProtected(await send('OPTIONS /healthz HTTP/1.1', 'Host: x', 'Connection: close'));
    expectProtected(await send('POST /docs HTTP/1.1', 'Host: x', 'Connection: close', 'Content-Length: 0'));
  });

  it('shows its version', async () => {
    const reply = await send('GET /healthz HTTP/1.1', 'Host: x', 'Connection: close');
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(JSON.parse(reply.body)).toEqual({ status: 'ok', service: 'gateway', version });
  });

  it('ignores an unknown expectation', async () => {
    expect((await send('GET /healthz HTTP/1.1', 'Host: x', 'Expect: foo', 'Connection: close')).status).toBe(200);
  });
});

it.each<[string, () => string, string, number]>([
  ['an operation', () => platform.gatewayUrl, 'http://x/v1/me', 200],
  ['an empty path', () => platform.gatewayUrl, 'http://x?a', 404],
  ['a document', () => platform.gatewayUrl, 'http://x/docs/key.json', 200],
  ['the documentation', () => platform.gatewayUrl, 'http://x/docs/', 301],
  ['the control plane', () => platform.adminUrl, 'https://x/admin/accounts?limit=1', 200],
  ['the console', () => platform.adminUrl, 'http://x', 200],
])('%s is served at an absolute target', async (_name, url, target, status) => {
  const { key } = await platform.account();
  const token = url() === platform.adminUrl ? platform.adminToken : key;
  const head = `GET ${target} HTTP/1.1\r\nHost: y\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;
  expect((await sendRaw(url(), head)).status).toBe(status);
});

describe('a connection', () => {
  const taken: ServerResponse[] = [];
  let listener: Awaited<ReturnType<typeof listenWithEnvelopes>>;
  beforeAll(async () => {
    const handle = (_request: unknown, response: ServerResponse) => void taken.push(response);
    listener = await listenWithEnvelopes(handle, { port: 0, host: '127.0.0.1', log: createLogger('test', 'silent') });
  });
  beforeEach(() => void taken.splice(0));
  afterAll(() => listener.close(0));

  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

  it.each([
    ['another request', get],
    ['very many', get.repeat(1_000)],
    ['invalid HTTP', 'NONSENSE\r\n\r\n'],
  ])('on which a client sends %s before the response closes after that response', async (_name, more) => {
    const reply = sendRaw(listener.url, get + more);
    await waitFor('the request', () => taken.length > 0 && !taken[0]!.shouldKeepAlive);
    taken[0]!.end('served');
    const { all } = await reply;
    expect([taken.length, all.match(/HTTP\/1\.1 \d+/g), all.includes('served')]).toEqual([1, ['HTTP/1.1 200'], true]);
  });

  it('is kept for a client that waits for each response', async () => {
    const client = new SlowClient(listener.url, get);
    for (const count of [1, 2, 3]) {
      await waitFor('the request', () => taken.length === count);
      taken.at(-1)!.end(`served ${count}`);
      await waitFor('the response', () => client.all.includes(`served ${count}`));
      client.send(get);
    }
    client.end();
  });
});

describe('the control plane', () => {
  it('sends 100 Continue to a client that waits for it', async () => {
    const body = JSON.stringify({ name: 'Patient' });
    const head = [
      'POST /admin/accounts HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${platform.adminToken}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close',
    ];
    const reply = await sendRaw(platform.adminUrl, [...head, '', ''].join('\r\n'), body);
    expect([reply.status, JSON.parse(reply.body).name]).toEqual([201, 'Patient']);
  });
});

it('a head that the gateway accepts is not too large for a service, including the headers that the gateway adds', async () => {
  const own = await startPlatform({ services: ['crm'] });
  try {
    const { key } = await own.account();
    const get = (bytes: number) => {
      const head = `GET /v1/crm/deals HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nX-Long: `;
      return sendRaw(own.gatewayUrl, `${head}${'x'.repeat(bytes - head.length - 4)}\r\n\r\n`);
    };
    const replies = await Promise.all([16_000, 16_200, 16_300, 16_380, 16_500].map(get));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 431]);
  } finally {
    await own.stop();
  }
}, 60_000);
