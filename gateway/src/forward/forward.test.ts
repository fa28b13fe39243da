import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { contextReader, createLogger, listen } from '@customer-platform/service-kit';
import {
  type Platform,
  type RawResponse,
  rawRequest,
  startPlatform,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '../../test/raw-http.ts';
import { SlowClient } from '../../test/slow-client.ts';
import { startGateway } from '../main.ts';
import { forwarder } from './forward.ts';

const path = '/v1/calendar/settings';
const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let service: StandInService;
let mute: { url: string; sockets: Set<Socket>; stop(): Promise<void> };
let platform: Platform;
let account: TestAccount;
let echo: StandInService['respond'];

beforeAll(async () => {
  service = await startStandIn();
  echo = service.respond;
  mute = await startMute();
  const env = {
    CALENDAR_URL: service.url,
    CDP_URL: 'http://127.0.0.1:1',
    WEBHOOKS_URL: mute.url,
    MESSAGING_URL: service.url,
  };
  platform = await startPlatform({ services: [], env });
  account = await platform.account();
});

afterAll(async () => {
  await platform?.stop();
  await service?.stop();
  await mute?.stop();
});

afterEach(() => {
  service.respond = echo;
});

/** Accepts connections and closes each at its first byte. */
async function startMute() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    sockets,
    stop: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

function accountOf(header: unknown, method: string, target: string) {
  const read = contextReader(platform.env('gateway').CONTEXT_SECRET!, 'calendar');
  return read(header as string | undefined, method, target, Date.now());
}

function head(method: string, target: string, lines: string[], key = account.key): string {
  return [`${method} ${target} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...lines, '', ''].join('\r\n');
}

describe('a service gets', () => {
  it('the account that the key acts for, signed, and the request id of the response', async () => {
    const response = await account.request('GET', `${path}?a=1&b=%20x`);
    expect(response.status).toBe(200);
    const { url, headers } = response.body;
    expect(url).toBe(`${path}?a=1&b=%20x`);
    expect(accountOf(headers['platform-context'], 'GET', url)).toMatchObject({
      id: account.id,
      mode: 'live',
      timezone: 'Europe/Berlin',
    });
    expect(headers['request-id']).toMatch(uuidV7);
    expect(response.headers.get('request-id')).toBe(headers['request-id']);
    expect(headers.authorization).toBeUndefined();
  });

  it('the sandbox, if the key is a test key', async () => {
    const response = await account.request('GET', path, { key: account.testKey });
    expect(accountOf(response.body.headers['platform-context'], 'GET', path)).toMatchObject({
      id: account.sandboxId,
      mode: 'test',
    });
  });

  it('none of the identity, trace and connection headers that a client forged', async () => {
    const forged = [
      'Platform-Context: forged',
      'platform-other: x',
      'Request-Id: mine',
      'Traceparent: 00-x',
      'Tracestate: a=b',
    ];
    const proxies = [
      'X-Forwarded-For: 1.2.3.4',
      'X-Forwarded-Host: evil',
      'Forwarded: for=1.2.3.4',
      'Via: 1.1 x',
      'Cookie: a=b',
    ];
    const hops = ['Keep-Alive: timeout=5', 'TE: trailers', 'Proxy-Authorization: Basic x', 'X-Mine: kept'];
    const reply = await sendRaw(
      platform.gatewayUrl,
      head('GET', path, [...forged, ...proxies, ...hops, 'Connection: close']),
    );
    expect(reply.status).toBe(200);
    const { headers } = JSON.parse(reply.body) as { headers: Record<string, string> };
    expect(Object.keys(headers).sort()).toEqual(['connection', 'host', 'platform-context', 'request-id', 'x-mine']);
    expect(accountOf(headers['platform-context'], 'GET', path).id).toBe(account.id);
    expect(headers['request-id']).toMatch(uuidV7);
    expect(headers.connection).toBe('keep-alive');
  });

  it('the true identity, if the client forges one under Expect: 100-continue', async () => {
    const lines = [
      'Platform-Context: forged',
      'Expect: 100-continue',
      'Content-Type: application/json',
      'Content-Length: 2',
    ];
    const reply = await sendRaw(platform.gatewayUrl, head('PATCH', path, [...lines, 'Connection: close']), '{}');
    expect(reply.all).toMatch(/^HTTP\/1\.1 100 Continue/);
    expect(reply.status).toBe(200);
    const seen = JSON.parse(reply.body) as { headers: Record<string, string>; body: string };
    expect(accountOf(seen.headers['platform-context'], 'PATCH', path).id).toBe(account.id);
    expect(seen.headers.expect).toBeUndefined();
    expect(seen.body).toBe('{}');
  });

  it('the true identity, if Connection names the header that carries it', async () => {
    const lines = [
      'Connection: close, Platform-Context, request-id, x-mine',
      'X-Mine: dropped',
      'Platform-Context: forged',
    ];
    const reply = await sendRaw(platform.gatewayUrl, head('GET', path, lines));
    const { headers } = JSON.parse(reply.body) as { headers: Record<string, string> };
    expect(accountOf(headers['platform-context'], 'GET', path).id).toBe(account.id);
    expect(headers['request-id']).toMatch(uuidV7);
    expect(headers['x-mine']).toBeUndefined();
  });

  it('one request for one request, if Connection names the header that bounds the body', async () => {
    const before = service.seen.length;
    const smuggled = 'GET /v1/calendar/staff HTTP/1.1\r\nHost: x\r\n\r\n';
    const lines = [`Content-Length: ${smuggled.length}`, 'Connection: close, content-length'];
    const reply = await sendRaw(platform.gatewayUrl, head('GET', path, lines) + smuggled);
    expect(reply.status).toBe(200);
    expect((JSON.parse(reply.body) as { body: string }).body).toBe(smuggled);
    expect(service.seen.slice(before).map((seen) => seen.url)).toEqual([path]);
  });

  it('the body byte for byte, chunked or not', async () => {
    const text = JSON.stringify({ note: 'Grüße, 世界 🎉', long: 'x'.repeat(200_000) });
    const plain = await account.request('PATCH', path, { rawBody: text });
    expect(plain.body.body).toBe(text);
    const chunked = `${Buffer.byteLength('{"a":1}').toString(16)}\r\n{"a":1}\r\n0\r\n\r\n`;
    const lines = ['Transfer-Encoding: chunked', 'Content-Type: application/json', 'Connection: close'];
    const reply = await sendRaw(platform.gatewayUrl, head('DELETE', '/v1/calendar/booking-types/1', lines) + chunked);
    expect(JSON.parse(reply.body)).toMatchObject({ method: 'DELETE', body: '{"a":1}' });
  });

  it('HEAD as HEAD, with a response without a body', async () => {
    const response = await account.request('HEAD', path);
    expect(response.status).toBe(200);
    expect(response.text).toBe('');
    expect(service.seen.at(-1)!.method).toBe('HEAD');
  });
});

describe('a client gets', () => {
  it("the service's status, headers and bytes, with the gateway's request id and without connection headers", async () => {
    service.respond = (_seen, response) => {
      response.writeHead(409, {
        'content-type': 'application/json',
        'idempotent-replayed': 'true',
        'request-id': 'theirs',
      });
      response.end('{"error":{"code":"invalid_state","message":"No."}}');
    };
    const response = await account.request('POST', '/v1/calendar/appointments', { body: {} });
    expect(response.status).toBe(409);
    expect(response.text).toBe('{"error":{"code":"invalid_state","message":"No."}}');
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(response.headers.get('request-id')).toMatch(uuidV7);
    expect(response.headers.get('keep-alive')).toBeNull();
  });

  it('503 with Retry-After from a service that refuses connections, resets them, or does not exist', async () => {
    for (const refused of ['/v1/cdp/contacts', '/v1/webhooks']) {
      const response = await account.request('POST', refused, { body: { name: 'x' } });
      expect(response.status).toBe(503);
      expect(response.body.error.code).toBe('service_unavailable');
      expect(response.headers.get('retry-after')).toBe('1');
      expect(response.headers.get('request-id')).toMatch(uuidV7);
      expect(response.headers.get('ratelimit')).toMatch(/^"key";r=\d+;t=\d+$/);
    }
  });

  it('a broken response, never a complete one, if the service dies during its response', async () => {
    service.respond = (_seen, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"half":');
      setImmediate(() => response.destroy());
    };
    await expect(account.request('GET', path)).rejects.toThrow();
    service.respond = echo;
    expect((await account.request('GET', path)).status).toBe(200);
  });

  it('no response that may be cached or sniffed, whatever the service sends', async () => {
    const protectedBy = (response: RawResponse) =>
      ['cache-control', 'x-content-type-options'].map((name) => response.headers.get(name));
    for (const status of [200, 204, 304, 404, 503]) {
      service.respond = (_seen, response) => {
        const headers = {
          'content-type': 'application/json',
          'cache-control': 'public',
          'x-content-type-options': 'no',
        };
        response.writeHead(status, headers).end(status === 204 || status === 304 ? undefined : '{}');
      };
      const response = await account.request('GET', path);
      expect([response.status, ...protectedBy(response)]).toEqual([status, 'no-store', 'nosniff']);
    }
    expect(protectedBy(await account.request('GET', '/v1/me'))).toEqual(['no-store', 'nosniff']);
    expect(protectedBy(await account.request('OPTIONS', path))).toEqual(['no-store', 'nosniff']);
    const docs = await rawRequest(platform.gatewayUrl, 'GET', '/v1/openapi.json');
    expect(protectedBy(docs)).toEqual(['no-cache', 'nosniff']);
  });

  it('503 as an envelope in place of a failure without one, such as the page of a load balancer', async () => {
    const page = '<html>Bad gateway</html>';
    for (const [status, headers] of [
      [502, { 'content-type': 'text/html', 'content-length': String(page.length) }],
      [504, {}],
      [500, { 'content-type': 'text/html', 'transfer-encoding': 'chunked' }],
      [502, { 'content-type': 'application/json' }],
    ] as [number, Record<string, string>][]) {
      service.respond = (_seen, response) => response.writeHead(status, headers).end(page);
      for (const method of ['GET', 'HEAD']) {
        const response = await account.request(method, path);
        expect([response.status, response.headers.get('retry-after'), response.text.includes('html')]).toEqual([
          503,
          '1',
          false,
        ]);
        if (method === 'GET') expect(response.body.error.code).toBe('service_unavailable');
      }
    }
    service.respond = (_seen, response) => {
      response.writeHead(500, { 'content-type': 'application/json; charset=utf-8' });
      response.end('{"error":{"code":"internal_error","message":"Ours."}}');
    };
    expect((await account.request('GET', path)).body.error.code).toBe('internal_error');
  });

  it('several responses over the same connection', async () => {
    const client = new SlowClient(platform.gatewayUrl, head('GET', path, []));
    expect(await client.responseStatus()).toBe(200);
    await waitFor('the whole response', () => client.all.endsWith('}'));
    client.send(head('GET', '/v1/me', ['Connection: close']));
    await waitFor('the end', () => client.isClosed);
    expect(client.all.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });
});

describe('the sockets of a service', () => {
  it('are shared: one account with its sandbox gets half of them and waits, a neighbor is served', async () => {
    const held: ServerResponse[] = [];
    service.respond = (seen, response) => (seen.url === `${path}?hold` ? held.push(response) : echo(seen, response));
    const gateway = await startGateway({ ...platform.env('gateway'), SERVICE_SOCKETS: '8', DRAIN_SECONDS: '0' });
    try {
      const neighbor = await platform.account();
      const hold = (key: string) => rawRequest(gateway.url, 'GET', `${path}?hold`, { key });
      const responses = [account.key, account.testKey, account.key, account.testKey].map(hold);
      await waitFor('four at the service', () => held.length === 4);
      responses.push(hold(account.key));
      for (let count = 0; count < 10; count++) {
        expect((await rawRequest(gateway.url, 'GET', path, { key: neighbor.key })).status).toBe(200);
      }
      expect(held).toHaveLength(4);
      held[0]!.end('{}');
      await waitFor('the fifth at the service', () => held.length === 5);
      for (const response of held) response.end('{}');
      expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(Array(5).fill(200));
    } finally {
      await gateway.stop();
    }
  });

  it('that do not become free in time are 429 for the account that holds them, and 503 for others', async () => {
    const held: ServerResponse[] = [];
    service.respond = (_seen, response) => held.push(response);
    const upstream = forwarder(service.url, 'calendar', createLogger('test', 'silent'), {
      sockets: 2,
      waiting: 8,
      waitMs: 20,
    });
    const { url, close } = await listen(
      (request: IncomingMessage, response: ServerResponse) => upstream.forward(request, response, request.url!),
      0,
      '127.0.0.1',
    );
    const first = ['/a', '/b'].map((owner) => rawRequest(url, 'GET', owner));
    await waitFor('both at the service', () => held.length === 2);
    const outcome = async (owner: string) => {
      const { status, body, headers } = await rawRequest(url, 'GET', owner);
      return [status, body.error.code, headers.get('retry-after')];
    };
    expect(await outcome('/a')).toEqual([429, 'rate_limited', '1']);
    expect(await outcome('/c')).toEqual([503, 'service_unavailable', '1']);
    for (const response of held) response.end('{}');
    await Promise.all(first);
    await close(0);
    upstream.close();
  });

  it('are released if a client does not read its response', async () => {
    let isClosed = false;
    service.respond = (_seen, response) => {
      response.once('close', () => (isClosed = true));
      response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(64_000_000));
    };
    const upstream = forwarder(service.url, 'calendar', createLogger('test', 'silent'), { timeoutMs: 100 });
    const { url, close } = await listen(
      (request: IncomingMessage, response: ServerResponse) => upstream.forward(request, response, 'somebody'),
      0,
      '127.0.0.1',
    );
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    );
    socket.pause();
    await waitFor('the socket to be released', () => isClosed);
    socket.destroy();
    await close(0);
    upstream.close();
  });
});

describe('probes', () => {
  it('delay no request, however many get no response', async () => {
    const held: ServerResponse[] = [];
    service.respond = (seen, response) => (seen.method === 'HEAD' ? held.push(response) : echo(seen, response));
    const upstream = forwarder(service.url, 'messaging', createLogger('test', 'silent'), { sockets: 2 });
    const { url, close } = await listen(
      (request: IncomingMessage, response: ServerResponse) => upstream.forward(request, response, 'somebody'),
      0,
      '127.0.0.1',
    );
    const probes = Promise.allSettled(Array.from({ length: 200 }, () => upstream.probe('/hooks/a', 'id', 120_000)));
    await waitFor('the probes at the service', () => held.length >= 32);
    const asked = rawRequest(url, 'GET', '/');
    expect((await waitFor('the response', () => Promise.race([asked, undefined]))).status).toBe(200);
    service.respond = echo;
    for (const response of held) response.end();
    const statuses = (await probes).map((probe) => probe.status === 'fulfilled' && probe.value.statusCode);
    expect(statuses).toEqual(Array(200).fill(200));
    await close(0);
    upstream.close();
  });
});

describe('a silent service', () => {
  it('is 503 after its timeout, and its connection is closed', async () => {
    let isClosed = false;
    service.respond = (_seen, response) => response.once('close', () => (isClosed = true));
    const log = createLogger('test', 'silent');
    const upstream = forwarder(service.url, 'calendar', log, { timeoutMs: 100 });
    const { url, close } = await listen(
      (request: IncomingMessage, response: ServerResponse) => upstream.forward(request, response, 'somebody'),
      0,
      '127.0.0.1',
    );
    const response = await rawRequest(url, 'GET', '/slow');
    expect([response.status, response.body.error.code, response.headers.get('retry-after')]).toEqual([
      503,
      'service_unavailable',
      '1',
    ]);
    await waitFor('the connection to be closed', () => isClosed);
    await close(0);
    upstream.close();
  });
});

describe('a hook', () => {
  it('goes to messaging without a key and without an account context', async () => {
    const response = await rawRequest(platform.gatewayUrl, 'POST', '/hooks/messages/token-1?x=1', {
      rawBody: '{"type":"receipt"}',
      headers: { 'platform-context': 'forged', 'webhook-id': 'kept', authorization: `Bearer ${account.key}` },
    });
    expect(response.status).toBe(200);
    const { url, headers, body } = response.body;
    expect([url, body, headers['webhook-id']]).toEqual(['/hooks/messages/token-1?x=1', '{"type":"receipt"}', 'kept']);
    expect([headers['platform-context'], headers.authorization]).toEqual([undefined, undefined]);
    for (const path of ['/hooks/', '/hooks//x', '/hooks/a%2f..%2fb', '/hooks/x/']) {
      expect([path, (await rawRequest(platform.gatewayUrl, 'POST', path, { body: {} })).status]).toEqual([path, 404]);
    }
  });
});

describe('a client that disconnects', () => {
  it('ends its request at the service', async () => {
    let hasBegun = false;
    const ended = new Promise<boolean>((resolve) => {
      service.respond = (_seen, response) => {
        hasBegun = true;
        response.once('close', () => resolve(response.writableFinished));
      };
    });
    const request = httpRequest(platform.gatewayUrl + path, { headers: { authorization: `Bearer ${account.key}` } });
    request.on('error', () => undefined);
    request.end();
    await waitFor('the request at the service', () => hasBegun);
    request.destroy();
    expect(await ended).toBe(false);
  });
});

describe('a body that is too large', () => {
  const mebibyte = 1_048_576;

  it('is refused by its Content-Length before a byte of it is forwarded', async () => {
    const before = service.seen.length;
    const response = await account.request('POST', '/v1/calendar/appointments', { rawBody: 'x'.repeat(mebibyte + 1) });
    expect(response.status).toBe(413);
    expect(response.body.error).toMatchObject({ code: 'invalid_request', field: 'body' });
    expect(service.seen).toHaveLength(before);
    const largest = await account.request('POST', '/v1/calendar/appointments', { rawBody: 'x'.repeat(mebibyte) });
    expect(largest.status).toBe(200);
    expect(largest.body.body).toHaveLength(mebibyte);
  });

  it('is cut at the limit if it is chunked', async () => {
    const before = service.seen.length;
    const chunk = 'x'.repeat(65_536);
    const reply = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      const request = httpRequest(`${platform.gatewayUrl}/v1/calendar/appointments`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      });
      request.on('error', reject);
      request.on('response', async (response) => {
        let body = '';
        for await (const part of response) body += String(part);
        resolve({ status: response.statusCode!, body });
      });
      for (let sent = 0; sent <= mebibyte; sent += chunk.length) request.write(chunk);
      request.end();
    });
    expect(reply.status).toBe(413);
    expect(JSON.parse(reply.body)).toMatchObject({ error: { code: 'invalid_request', field: 'body' } });
    expect(service.seen).toHaveLength(before);
  });

  it('is refused without 100 Continue', async () => {
    const lines = [`Content-Length: ${mebibyte + 1}`, 'Expect: 100-continue', 'Content-Type: application/json'];
    const reply = await sendRaw(platform.gatewayUrl, head('POST', '/v1/calendar/appointments', lines), 'never');
    expect(reply.all).toMatch(/^HTTP\/1\.1 413/);
  });
});
