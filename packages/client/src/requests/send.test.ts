import type { ServerResponse } from 'node:http';
import { type Receiver, startReceiver } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ClientOptions,
  ConnectionError,
  createClient,
  isPlatformError,
  PlatformError,
  ResponseError,
  TimeoutError,
} from '../index.ts';

let server: Receiver;
beforeEach(async () => {
  server = await startReceiver();
});
afterEach(() => server.stop());

const clientOf = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: server.url, apiKey: 'cp_test_key', ...options });
const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const refusal = (code: string, field?: string) => ({ error: { code, message: `${code} it is`, field } });

/** Makes the server send these responses in order, and repeat the last one. */
function respondWith(...given: ((response: ServerResponse) => unknown)[]): void {
  server.respond = (_request, response) => (given.length > 1 ? given.shift()! : given[0]!)(response);
}

const failing = (status: number, headers: Record<string, string> = {}) => {
  return (response: ServerResponse) => json(response, status, refusal('service_unavailable'), headers);
};
const succeeding = (response: ServerResponse) => json(response, 200, { id: 'one' });
const broken = (response: ServerResponse) => response.socket!.destroy();
const brokenLater = (response: ServerResponse) => {
  response.writeHead(200, { 'content-length': '1000' }).write('{"id":', () => response.socket!.destroy());
};

const contact = { params: { contact_id: 'a/b?c' } };
const write = { body: { name: 'Ada' } };

describe('a request', () => {
  it('has the method, path, query, key and body of its operation', async () => {
    respondWith(succeeding);
    await clientOf({ baseUrl: `${server.url}/` }).cdp.contacts.get(contact);
    await clientOf().cdp.contacts.list({ query: { q: 'a&b', limit: 3, phone: undefined } });
    await clientOf().cdp.contacts.create({ ...write, idempotencyKey: 'once' });
    const [got, listed, created] = server.received;
    expect([got!.method, got!.path]).toEqual(['GET', '/v1/cdp/contacts/a%2Fb%3Fc']);
    expect(got!.headers).toMatchObject({ authorization: 'Bearer cp_test_key', accept: 'application/json' });
    expect(listed!.path).toBe('/v1/cdp/contacts?q=a%26b&limit=3');
    expect([created!.method, created!.path, created!.body]).toEqual(['POST', '/v1/cdp/contacts', '{"name":"Ada"}']);
    expect(created!.headers).toMatchObject({ 'content-type': 'application/json', 'idempotency-key': 'once' });
  });

  it('waits as long as its timeout, also without a limit', async () => {
    for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
      respondWith((response) => setTimeout(() => succeeding(response), 20));
      expect(await clientOf({ timeoutMs, retries: 0 }).me.get()).toEqual({ id: 'one' });
    }
  });

  it('that writes has its own Idempotency-Key, and one that reads or puts has none', async () => {
    respondWith(succeeding);
    await clientOf().cdp.contacts.create(write);
    await clientOf().cdp.contacts.create(write);
    await clientOf().me.get();
    await clientOf().messages.channels.put({
      params: { channel: 'sms' },
      body: { provider: 'http', settings: {} } as never,
    });
    const [one, other, ...none] = server.received.map(({ headers }) => headers['idempotency-key']);
    expect([typeof one, one === other, ...none]).toEqual(['string', false, undefined, undefined]);
  });

  it('with parameters that would change its path is not sent', async () => {
    for (const contact_id of ['..', '.', '', undefined as never]) {
      await expect(clientOf().cdp.contacts.delete({ params: { contact_id } })).rejects.toThrow(
        /^cdp\.contacts\.delete: params.contact_id must be an id, not/,
      );
    }
    expect(server.received).toEqual([]);
  });

  it('uses the given fetch, and reports each response', async () => {
    respondWith(failing(503), succeeding);
    const urls: unknown[] = [];
    const told: unknown[] = [];
    const client = clientOf({
      fetch: (url, init) => {
        urls.push(url);
        return fetch(url, init);
      },
      onResponse: (line, status, headers) => told.push([line, status, headers.get('content-type')]),
    });
    await client.me.get();
    expect(urls).toEqual([`${server.url}/v1/me`, `${server.url}/v1/me`]);
    const line = { operation: 'getMe', method: 'GET', path: '/v1/me' };
    expect(told).toEqual([503, 200].map((status) => [line, status, 'application/json']));
  });

  it('sends files as form parts, with the same bytes in each attempt', async () => {
    respondWith(failing(503), succeeding);
    await clientOf().agents.knowledge.files.upload({
      body: { file: new File(['a page'], 'a.txt'), title: 'A' } as never,
    });
    const [first, second] = server.received;
    expect(first!.body).toContain('filename="a.txt"');
    expect(first!.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect([second!.body, second!.headers]).toEqual([first!.body, first!.headers]);
  });
});

describe('a client', () => {
  it('is refused without a valid address and key', () => {
    const wrong = ['', 'api.example.com', 'ftp://api.example.com', 'https://api.example.com/v1', undefined as never];
    for (const baseUrl of wrong) {
      expect(() => clientOf({ baseUrl })).toThrow(/^baseUrl must be the API's address/);
    }
    for (const apiKey of ['', 'cp_live_a\nb', 'schlüssel']) {
      expect(() => clientOf({ apiKey })).toThrow(/^apiKey must be an API key/);
    }
  });
});

describe('retries', () => {
  it.each([
    ['429', failing(429)],
    ['502', failing(502)],
    ['503', failing(503)],
    ['504', failing(504)],
    ['409 with Retry-After', failing(409, { 'retry-after': '0' })],
    ['a broken connection', broken],
    ['a connection that breaks within the response', brokenLater],
  ])('follow %s, with the same Idempotency-Key and body', async (_name, fault) => {
    respondWith(fault, fault, succeeding);
    expect(await clientOf().cdp.contacts.create(write)).toEqual({ id: 'one' });
    const [first, ...others] = server.received.map(({ body, headers }) => [body, headers['idempotency-key']]);
    expect(others).toEqual([first, first]);
  });

  it.each([400, 401, 403, 404, 409, 413, 500, 301])('do not happen after %s', async (status) => {
    respondWith(failing(status));
    await expect(clientOf().cdp.contacts.create(write)).rejects.toMatchObject({ status });
    expect(server.received).toHaveLength(1);
  });

  it('do not happen after a Retry-After of more than a minute, and the error has the seconds', async () => {
    respondWith(failing(429, { 'retry-after': '61' }));
    await expect(clientOf().me.get()).rejects.toMatchObject({ status: 429, retryAfter: 61 });
    expect(server.received).toHaveLength(1);
  });

  it('are two by default, or as many as configured', async () => {
    respondWith(failing(503));
    await expect(clientOf().me.get()).rejects.toMatchObject({ status: 503 });
    expect(server.received).toHaveLength(3);
    await expect(clientOf({ retries: 0 }).me.get()).rejects.toMatchObject({ status: 503 });
    expect(server.received).toHaveLength(4);
    respondWith(broken);
    await expect(clientOf({ retries: 1 }).me.get()).rejects.toBeInstanceOf(ConnectionError);
    expect(server.received).toHaveLength(6);
  });

  it('wait as long as Retry-After says, as seconds or a date', async () => {
    const [date, later] = [new Date('2030-01-01T00:00:00Z'), new Date('2030-01-01T00:00:01Z')];
    const dated = failing(429, { date: date.toUTCString(), 'retry-after': later.toUTCString() });
    respondWith(failing(503, { 'retry-after': '1' }), dated, succeeding);
    await clientOf().me.get();
    const [first, second, third] = server.received.map(({ at }) => at);
    // A timer may fire a millisecond early.
    expect(second! - first!).toBeGreaterThanOrEqual(998);
    expect(third! - second!).toBeGreaterThanOrEqual(998);
  });
});

describe('a call that is aborted', () => {
  it('ends during a request, with the reason of its signal', async () => {
    const controller = new AbortController();
    server.respond = () => controller.abort(new Error('enough'));
    await expect(clientOf().me.get({ signal: controller.signal })).rejects.toThrow('enough');
    expect(server.received).toHaveLength(1);
  });

  it('ends during the wait before a retry', async () => {
    const controller = new AbortController();
    respondWith(failing(503, { 'retry-after': '60' }));
    const onResponse = () => void setImmediate(() => controller.abort(new Error('enough')));
    await expect(clientOf({ onResponse }).me.get({ signal: controller.signal })).rejects.toThrow('enough');
    expect(server.received).toHaveLength(1);
  });

  it('is not sent if its signal is already aborted', async () => {
    await expect(clientOf().me.get({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(server.received).toEqual([]);
  });
});

describe('errors', () => {
  const faultOf = (options: Partial<ClientOptions>): Promise<unknown> =>
    clientOf(options)
      .me.get()
      .catch((thrown: unknown) => thrown);

  it('of the API have its status, code, message, field and request id', async () => {
    respondWith((response) => {
      json(response, 409, refusal('slot_taken', 'starts_at'), { 'request-id': 'r1', 'retry-after': '7' });
    });
    const error = await faultOf({ retries: 0 });
    expect(error).toBeInstanceOf(PlatformError);
    const fields = { status: 409, code: 'slot_taken', field: 'starts_at', requestId: 'r1', retryAfter: 7 };
    expect(error).toMatchObject({ ...fields, name: 'PlatformError', message: 'slot_taken it is' });
    expect([isPlatformError(error), isPlatformError(error, 'not_found', 'slot_taken')]).toEqual([true, true]);
    expect([isPlatformError(error, 'not_found'), isPlatformError(new Error('other'))]).toEqual([false, false]);
  });

  it('of another server, such as a proxy, are not errors of the API', async () => {
    respondWith((response) => response.writeHead(502).end(`<h1>Bad gateway</h1>${'x'.repeat(1000)}`));
    const error = await faultOf({ retries: 0 });
    expect(error).toBeInstanceOf(ResponseError);
    expect(error).toMatchObject({ code: 'unexpected_response', status: 502 });
    expect((error as ResponseError).body).toMatch(/^<h1>Bad gateway<\/h1>x{480}$/);
    respondWith((response) => response.writeHead(200).end('<h1>Sign in</h1>'));
    await expect(clientOf().me.get()).rejects.toBeInstanceOf(ResponseError);
  });

  it('are a timeout if the response takes too long, also one byte at a time', async () => {
    server.respond = () => undefined;
    const hurried = { retries: 0, timeoutMs: 50 };
    await expect(clientOf(hurried).me.get()).rejects.toMatchObject({ name: 'TimeoutError', code: 'timed_out' });
    server.respond = (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(timer));
    };
    await expect(clientOf(hurried).me.get()).rejects.toBeInstanceOf(TimeoutError);
  });

  it('are a failed connection if no server listens', async () => {
    await server.stop();
    const error = await faultOf({ retries: 1 });
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'connection_failed' });
    expect((error as Error).message).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/v1\/me failed: .*ECONNREFUSED/);
    server = await startReceiver();
  });

  it('are a failed connection with a hint for https to an http server', async () => {
    const client = clientOf({ baseUrl: server.url.replace('http:', 'https:'), retries: 0 });
    await expect(client.me.get()).rejects.toThrow(' failed: the server does not respond over https; ');
  });

  it('are a redirect, which does not send the key to another server', async () => {
    const other = await startReceiver();
    respondWith((response) => response.writeHead(307, { location: `${other.url}/v1/me` }).end());
    await expect(clientOf().me.get()).rejects.toMatchObject({ code: 'unexpected_response', status: 307 });
    expect(other.received).toEqual([]);
    await other.stop();
  });
});
