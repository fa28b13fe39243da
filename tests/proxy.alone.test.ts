import { once } from 'node:events';
import { connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { startProxy, type TlsProxy } from '@customer-platform/testkit/nginx';
import { testCertificate } from '@customer-platform/testkit/test-certificate';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Attack, startAttack } from './proxy-attackers.ts';
import { ProxyClient, type Sent, writeRaw } from './proxy-client.ts';

let platform: Platform;
let proxy: TlsProxy;
let client: ProxyClient;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({ services: ['agents', 'cdp', 'webhooks'], env: { TRUSTED_PROXIES: '127.0.0.1' } });
  proxy = await startProxy(platform.gatewayUrl);
  client = new ProxyClient(proxy.url);
  account = await platform.account();
}, 120_000);
afterAll(async () => {
  client?.close();
  await proxy?.stop();
  await platform?.stop();
});

/** Headers that differ between responses or between servers. */
const ofEachResponse = ['date', 'server', 'connection', 'keep-alive', 'request-id', 'transfer-encoding'];
const ratesLeft = /^ratelimit/;

function sameHeaders(headers: Headers | Record<string, unknown>): Record<string, unknown> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const kept = entries.filter(([name]) => !ofEachResponse.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, ratesLeft.test(name) ? 'some' : value]));
}

describe('a request', () => {
  it.each<[string, Omit<Sent, 'key'>]>([
    ['that lists', { path: '/v1/cdp/contacts?limit=1' }],
    ['with HEAD', { method: 'HEAD', path: '/v1/cdp/contacts?limit=1' }],
    ['with OPTIONS', { method: 'OPTIONS', path: '/v1/cdp/contacts' }],
    ['of an unknown path', { path: '/v1/nothing/../here%2f' }],
    ['of the document', { path: '/v1/openapi.json', headers: { 'accept-encoding': 'identity' } }],
    [
      'with a body above the limit of its operation',
      { method: 'POST', path: '/v1/cdp/contacts', body: `"${'x'.repeat(1_500_000)}"` },
    ],
    ['with headers above 16 KiB', { path: '/v1/me', headers: { 'x-long': 'x'.repeat(17_000) } }],
  ])('%s has the same response as at the gateway', async (_, sent) => {
    const { key } = account;
    const { method = 'GET', path, headers = {}, body } = sent;
    const expected = await rawRequest(platform.gatewayUrl, method, path, {
      key,
      headers,
      ...(body === undefined ? {} : { rawBody: body as string }),
    });
    const { status, headers: given, text } = await client.send({ ...sent, key });
    expect({ status, text, headers: sameHeaders(given) }).toEqual({
      status: expected.status,
      text: expected.text,
      headers: sameHeaders(expected.headers),
    });
    expect(given['request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('that is repeated has Idempotent-Replayed and rate limit headers', async () => {
    const [body, headers] = ['{"name":"Ada"}', { 'idempotency-key': 'proxy-1' }];
    const sent = { method: 'POST', path: '/v1/cdp/contacts', key: account.key, headers, body };
    const [first, second] = [await client.send(sent), await client.send(sent)];
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text]);
    expect([first.headers['idempotent-replayed'], second.headers['idempotent-replayed']]).toEqual([undefined, 'true']);
    expect(Object.keys(first.headers).filter((name) => ratesLeft.test(name))).not.toEqual([]);
  });

  it('with a file of 5 MiB passes', async () => {
    const form = new FormData();
    form.set('file', new File(['A line of text.\n'.repeat(327_680)], 'lines.txt'));
    const encoded = new Response(form);
    const headers = { 'content-type': encoded.headers.get('content-type')! };
    const body = Buffer.from(await encoded.arrayBuffer());
    expect(body.length).toBeGreaterThan(5 * 1_048_576);
    const upload = { method: 'POST', path: '/v1/agents/knowledge/files', key: account.key, headers, body };
    const { status, text } = await client.send(upload);
    expect([status, JSON.parse(text)]).toEqual([201, expect.objectContaining({ title: 'lines.txt' })]);
  });

  it('by HTTP/2 is served, also one that the gateway rejects after several MiB', async () => {
    const session = connect(proxy.url, { ca: testCertificate });
    try {
      const head = { ':method': 'POST', ':path': '/v1/cdp/contacts', 'content-type': 'application/json' };
      const stream = session.request({ ...head, authorization: `Bearer ${account.key}` });
      stream.end(Buffer.alloc(6 * 1_048_576, 'x'));
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      const { error } = JSON.parse(await text(stream));
      expect([headers[':status'], error.message]).toEqual([413, 'body must be at most 1 MiB']);
    } finally {
      session.close();
    }
  });
});

describe('the address of a client', () => {
  const from = async (url: string, address: string, key: string, forged?: string) => {
    const another = new ProxyClient(url, address);
    const headers: Record<string, string> =
      forged === undefined ? {} : { 'x-forwarded-for': forged, forwarded: `for=${forged}` };
    const { status } = await another.send({ path: '/v1/me', key, headers });
    another.close();
    return status;
  };

  it('reaches the gateway, and cannot be forged by the client', async () => {
    const key = await platform.issueKey(account.id, { allowed_addresses: ['127.0.0.21'] });
    expect(await from(proxy.url, '127.0.0.21', key)).toBe(200);
    expect(await from(proxy.url, '127.0.0.21', key, '127.0.0.22')).toBe(200);
    expect(await from(proxy.url, '127.0.0.22', key)).toBe(403);
    expect(await from(proxy.url, '127.0.0.22', key, '127.0.0.21')).toBe(403);
  });

  it("is taken from a configured balancer's header", async () => {
    const key = await platform.issueKey(account.id, { allowed_addresses: ['2001:db8::/64'] });
    const behind = await startProxy(platform.gatewayUrl, { balancer: '127.0.0.31' });
    try {
      expect(await from(behind.url, '127.0.0.31', key, '198.51.100.9, 2001:db8::5')).toBe(200);
      expect(await from(behind.url, '127.0.0.31', key, '2001:db8::5, 198.51.100.9')).toBe(403);
      expect(await from(behind.url, '127.0.0.32', key, '2001:db8::5')).toBe(403);
    } finally {
      await behind.stop();
    }
  });
});

describe('the stream of events', () => {
  it('delivers each event at once, without buffering in the proxy', async () => {
    const reader = new ProxyClient(proxy.url, '127.0.0.23');
    const stream = await reader.open({ path: '/v1/events/stream', key: account.key });
    expect([stream.statusCode, stream.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    let read = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => (read += chunk));
    for (const name of ['Ada', 'Grace']) {
      await account.client.cdp.contacts.create({ body: { name } });
      await waitFor(`the event of ${name}`, () => read.includes(`"${name}"`), 10_000);
    }
    const closed = once(stream, 'close');
    stream.on('error', () => undefined).destroy();
    await closed;
    reader.close();
  });
});

describe("the proxy's own errors have the envelope:", () => {
  const head = (raw: string) => raw.slice(0, raw.indexOf('\r\n\r\n')).split('\r\n');
  const bodyOf = (raw: string) => JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4));

  it.each([
    ['invalid HTTP', 'NONSENSE\r\n\r\n', 400],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a path above the root', 'GET /../x HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
    ['a path of 30 KB', `GET /${'x'.repeat(30_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['a header of 30 KB', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(30_000)}\r\n\r\n`, 431],
    [
      'a body of 22 MB',
      'POST /v1/cdp/contacts HTTP/1.1\r\nHost: x\r\nContent-Length: 22100000\r\nConnection: close\r\n\r\n',
      413,
    ],
  ])('%s', async (_, written, status) => {
    const raw = await writeRaw(proxy.url, written);
    expect(raw.split(' ', 2)).toEqual(['HTTP/1.1', String(status)]);
    expect(bodyOf(raw)).toEqual({ error: { code: 'invalid_request', message: expect.any(String) } });
    expect(head(raw)).toEqual(
      expect.arrayContaining([
        'Content-Type: application/json; charset=utf-8',
        'Cache-Control: no-store',
        'X-Content-Type-Options: nosniff',
        expect.stringMatching(/^Request-Id: [0-9a-f]{32}$/),
      ]),
    );
  });

  it('an internal path of the proxy', async () => {
    const { status, text } = await client.send({ path: '/-/limited' });
    expect([status, JSON.parse(text).error.code]).toEqual([404, 'not_found']);
  });

  it('an unreachable gateway', async () => {
    const alone = await startProxy('http://127.0.0.1:1');
    const lonely = new ProxyClient(alone.url);
    try {
      const { status, headers, text } = await lonely.send({ path: '/v1/me' });
      expect([status, headers['retry-after'], JSON.parse(text).error.code]).toEqual([503, '1', 'service_unavailable']);
    } finally {
      lonely.close();
      await alone.stop();
    }
  });

  it('too many concurrent requests of one address, but not of others', async () => {
    const path = '/v1/cdp/contacts';
    const [most, more] = [128, 20];
    const attackers = { url: proxy.url, addresses: ['127.0.0.24'], connections: most + more };
    const attack = startAttack({ ...attackers, attack: 'slow bodies' });
    const [same, other] = [new ProxyClient(proxy.url, '127.0.0.24'), new ProxyClient(proxy.url, '127.0.0.25')];
    try {
      await waitFor('the end of the excess requests', () => attack.state.ended >= more);
      const refused = await same.send({ path, key: account.key });
      expect([attack.state.ended, refused.status]).toEqual([more, 429]);
      expect([refused.headers['retry-after'], JSON.parse(refused.text).error.code]).toEqual(['1', 'rate_limited']);
      expect((await other.send({ path, key: account.key })).status).toBe(200);
    } finally {
      same.close();
      other.close();
      await attack.stop();
    }
  });

  it('plain HTTP is redirected to HTTPS', async () => {
    const { status, headers } = await fetch(`${proxy.plainUrl}/docs?x=1`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([308, 'https://127.0.0.1/docs?x=1']);
  });
});

/** Maximum p99 of another customer during an attack, in milliseconds. */
const neighbourP99Ms = 250;
const requests = 200;
const rounds = 3;

describe('the p99 of another customer stays under 250 ms while attackers', () => {
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
  let stranger: TestAccount;

  beforeAll(async () => {
    stranger = await platform.account();
    // A page much larger than a connection's buffers.
    const fields = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field_${index}`, 'x'.repeat(1_000)]));
    for (let index = 0; index < 10; index++) {
      await stranger.client.cdp.contacts.create({ body: { name: `Contact ${index}`, fields } });
    }
  });

  /** Returns the best p99 of up to three rounds, because other work on the machine may disturb a round. */
  async function p99Ms(): Promise<number> {
    const neighbour = new ProxyClient(proxy.url, '127.0.0.9');
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds && best >= neighbourP99Ms; round++) {
      const times = await neighbour.timesOf(requests, { path: '/v1/cdp/contacts?limit=1', key: account.key });
      times.sort((one, other) => one - other);
      best = Math.min(best, times[Math.ceil(0.99 * requests) - 1]!);
    }
    neighbour.close();
    return best;
  }

  it('do nothing', async () => {
    expect(await p99Ms()).toBeLessThan(neighbourP99Ms);
  });

  it.each<[string, Attack, boolean, number]>([
    ['hold 300 connections with headers of one byte a second', 'slow heads', false, 300],
    ['send bodies of one byte a second, without a key', 'slow bodies', false, 300],
    ['send bodies of one byte a second, with a key', 'slow bodies', true, 300],
    ['do not read large lists on 150 connections', 'unread responses', true, 150],
    ['repeatedly pipeline 1,000 requests on each of 60 connections, without a key', 'pipelined requests', false, 60],
    ['repeatedly pipeline 1,000 requests on each of 60 connections, with a key', 'pipelined requests', true, 60],
  ])(
    '%s',
    async (_name, attack, hasKey, connections) => {
      const key = hasKey ? { key: stranger.key } : {};
      const running = startAttack({ attack, url: proxy.url, addresses, connections, ...key });
      try {
        await waitFor('the attack', () => running.state.begun >= connections, 60_000);
        expect(await p99Ms()).toBeLessThan(neighbourP99Ms);
        if (attack === 'slow heads')
          await waitFor('the end of each slow head', () => running.state.ended >= connections, 30_000);
      } finally {
        await running.stop();
      }
    },
    120_000,
  );
});
