import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createSocketServer } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { constants, createZstdCompress, gzipSync } from 'node:zlib';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeLoopback, listen, poster, respondWith, serve, serveRaw } from '../test/loopback.ts';
import { isSuccess, type Poster } from './post.ts';

afterEach(closeLoopback);

const post = (url: string, client: Poster = poster(), poolKey = 'endpoint') =>
  client.post({
    poolKey,
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'evt' },
    body: '{"a":"ü"}',
  });

describe('one POST', () => {
  it('sends the body and headers as they are and returns the response', async () => {
    const seen: object[] = [];
    const url = await serve(async (request, response) => {
      const { method, url: path, headers } = request;
      seen.push({ method, path, id: headers['webhook-id'], body: await text(request) });
      response.writeHead(201).end('taken');
    });
    const result = await post(`${url}/hook?a=b`);
    expect(result).toEqual({ status: 201, body: 'taken', durationMs: expect.any(Number) });
    expect(isSuccess(result)).toBe(true);
    expect(seen).toEqual([{ method: 'POST', path: '/hook?a=b', id: 'evt', body: '{"a":"ü"}' }]);
  });

  it.each([
    [200, true],
    [204, true],
    [299, true],
    [304, false],
    [400, false],
    [410, false],
    [500, false],
  ])('status %d is success: %s', async (status, success) => {
    const result = await post(await respondWith(status));
    expect([result.status, result.error, isSuccess(result)]).toEqual([status, undefined, success]);
  });

  it('a redirect is a failure and is not followed', async () => {
    let followed = 0;
    const target = await serve((_, response) => {
      followed++;
      response.end();
    });
    const result = await post(await respondWith(302, { location: target }));
    expect([result.status, isSuccess(result), followed]).toEqual([302, false, 0]);
  });
});

describe('each failure has a class', () => {
  it('http: a reset on a new connection, which is not retried', async () => {
    let connections = 0;
    const url = await serveRaw((socket) => {
      connections++;
      socket.once('data', () => socket.resetAndDestroy());
    });
    const result = await post(url);
    expect([result.error, result.status, connections]).toEqual(['http', undefined, 1]);
  });

  it('a response that ends too early or too late keeps its status and is no success', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc';
    const cut = await post(await serveRaw((socket) => socket.once('data', () => socket.end(head))));
    expect([cut.error, cut.status, isSuccess(cut)]).toEqual(['http', 200, false]);
    const hung = await serveRaw((socket) => socket.once('data', () => socket.write(head)));
    // The head must arrive before the deadline.
    const late = await post(hung, poster({ timeoutMs: 2_000 }));
    expect([late.error, late.status, isSuccess(late)]).toEqual(['timeout', 200, false]);
  });

  it('tls: a self-signed certificate, a wrong name, a server without TLS', async () => {
    const certified = { cert: testCertificate, key: testCertificateKey };
    const port = await listen(createTlsServer(certified, (_, response) => response.end('secret')));
    expect((await post(`https://localhost:${port}/`)).error).toBe('tls');
    const trusting = poster({ certificateAuthority: testCertificate });
    expect(await post(`https://localhost:${port}/`, trusting)).toMatchObject({ status: 200, body: 'secret' });
    expect(await post(`https://127.0.0.1:${port}/`, trusting)).toMatchObject({ status: 200, body: 'secret' });
    expect((await post(`https://other.example:${port}/`, trusting)).error).toBe('tls');
    const plain = await respondWith(200);
    expect((await post(plain.replace('http:', 'https:'))).error).toBe('tls');
  });

  it('tls: a wrong certificate at one address of a name whose other addresses refuse connections or are silent', async () => {
    const port = await listen(createTlsServer({ cert: testCertificate, key: testCertificateKey }));
    await listen(createSocketServer(), port, '127.0.0.4');
    for (const addresses of [
      ['127.0.0.2', '127.0.0.1', '127.0.0.3'],
      ['127.0.0.1', '127.0.0.4'],
    ]) {
      const client = poster({ resolve: async () => addresses, timeoutMs: 60_000 });
      expect((await post(`https://two.example:${port}/`, client)).error).toBe('tls');
    }
  });

  it('a deadline does not affect another request, and a connection that was cut is not reused', async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      if (requests % 2 === 0) response.end('ok');
    });
    const one = poster({ timeoutMs: 2000 });
    expect((await post(url, one)).error).toBe('timeout');
    expect(await post(url, one)).toMatchObject({ status: 200, body: 'ok' });
    const [hung, healthy] = await Promise.all([post(url, one), post(url, one)]);
    expect([hung.error, healthy.status]).toEqual(['timeout', 200]);
  });
});

describe('the response is bounded', () => {
  const limit = 64 * 1024;

  it('to 2 KiB kept, in whole characters and without NUL', async () => {
    const result = await post(await respondWith(200, {}, `x\0${'€'.repeat(2000)}`));
    expect(result.body).toBe(`x\ufffd${'€'.repeat(681)}`);
    expect(Buffer.byteLength(result.body)).toBeLessThanOrEqual(2048);
    const bytes = await post(await respondWith(200, {}, Buffer.alloc(5000, 0xff)));
    expect(Buffer.byteLength(bytes.body)).toBeLessThanOrEqual(2048);
  });

  it('to 64 KiB: a byte more fails a 2xx response and does not change the result of another status', async () => {
    const whole = await post(await respondWith(200, {}, Buffer.alloc(limit, 'a')));
    expect([whole.status, whole.error, whole.body.length]).toEqual([200, undefined, 2048]);
    const more = await post(await respondWith(200, {}, Buffer.alloc(limit + 1, 'a')));
    expect([more.status, more.error, isSuccess(more), more.body.length]).toEqual([200, 'too_large', false, 2048]);
    const failed = await post(await respondWith(410, {}, Buffer.alloc(limit * 4, 'a')));
    expect([failed.status, failed.error]).toEqual([410, undefined]);
  });

  it('to 8,192 chunks: one more is a failure', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const inChunks = (count: number) =>
      serveRaw((socket) => socket.once('data', () => socket.write(`${head}${'1\r\na\r\n'.repeat(count)}0\r\n\r\n`)));
    const taken = await post(await inChunks(8_192));
    expect([taken.status, taken.error, taken.body]).toEqual([200, undefined, 'a'.repeat(2_048)]);
    const more = await post(await inChunks(8_193));
    expect([more.status, more.error]).toEqual([200, 'too_large']);
  });

  it('to 64 KiB after decompression, and invalid compressed data is kept as received', async () => {
    const zipped = (bytes: Buffer) => respondWith(200, { 'content-encoding': 'gzip' }, bytes);
    const noise = await post(await zipped(gzipSync(randomBytes(limit))));
    expect([noise.status, noise.error]).toEqual([200, undefined]);
    expect((await post(await zipped(gzipSync(Buffer.alloc(limit + 1))))).error).toBe('too_large');
    const broken = await post(await zipped(Buffer.from('not gzip')));
    expect([broken.status, broken.error, broken.body]).toEqual([200, undefined, 'not gzip']);
  });

  it('to a zstd window of 8 MiB: a body that asks for 128 MiB is kept as received', async () => {
    const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
    stream.write('{"ok":true}');
    const bytes = await buffer(stream.end());
    const result = await post(await respondWith(200, { 'content-encoding': 'zstd' }, bytes));
    expect([result.status, result.error, result.body === '{"ok":true}']).toEqual([200, undefined, false]);
  });
});

it('an endpoint that hangs does not keep its idle connections from others, and can be aborted afterwards', async () => {
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/healthy') response.end();
    else waiting.push(response);
    if (waiting.length === 3) for (const each of waiting.splice(0)) each.end();
  });
  server.keepAliveTimeout = 60_000;
  const url = `http://127.0.0.1:${await listen(server)}`;
  const client = poster({ maxSockets: 3 });
  await Promise.all([1, 2, 3].map(() => post(`${url}/hook`, client, 'hanging')));
  const hanging = post(`${url}/hook`, client, 'hanging');
  const healthy = post(`${url}/healthy`, client, 'healthy');
  expect(await Promise.race([hanging, healthy])).toMatchObject({ status: 200 });
  client.abort('hanging');
  expect(await hanging).toMatchObject({ error: 'http', isAborted: true });
  expect(client.openSockets()).toBeLessThanOrEqual(3);
});
