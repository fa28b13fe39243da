import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, constants, createZstdCompress, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { afterEach, describe, expect, it } from '@jest/globals';
import { respondWithChunkWithoutEnd, respondWithHints } from '../test/endless-responses.ts';
import { parseAddressRanges } from './address-ranges.ts';
import { createPoster, isSuccess, type Poster, type PosterOptions } from './post.ts';

const dayMs = 86_400_000;
const servers: Server[] = [];
const sockets = new Set<Socket>();
const posters: Poster[] = [];

afterEach(async () => {
  await Promise.all(posters.splice(0).map((poster) => poster.close()));
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(listener))}/hook?a=b`;
}

async function serveRaw(onConnection: (socket: Socket) => void): Promise<string> {
  return `http://127.0.0.1:${await listen(createSocketServer(onConnection))}/`;
}

function poster(options: Partial<PosterOptions> = {}): Poster {
  const allowedRanges = parseAddressRanges('127.0.0.0/8');
  const resolve = async () => ['127.0.0.1'];
  const made = createPoster({
    allowedRanges,
    resolve,
    timeoutMs: 20_000,
    maxSocketsPerPool: 10,
    maxSockets: 100,
    ...options,
  });
  posters.push(made);
  return made;
}

const post = (url: string, client: Poster = poster(), poolKey = 'endpoint') =>
  client.post({
    poolKey,
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'evt' },
    body: '{"a":"ü"}',
  });

const respondWith = (status: number, headers: Record<string, string> = {}, body: string | Buffer = '') =>
  serve((request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body));
  });

describe('one POST', () => {
  it('sends the body and headers as they are and returns the response', async () => {
    const seen: { method?: string; url?: string; id?: unknown; body: string }[] = [];
    const url = await serve((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        seen.push({ method, url: path, id: headers['webhook-id'], body: Buffer.concat(parts).toString() });
        response.writeHead(201).end('taken');
      });
    });
    const result = await post(url);
    expect(result).toEqual({ status: 201, body: 'taken', durationMs: expect.any(Number) });
    expect(isSuccess(result)).toBe(true);
    expect(seen).toEqual([{ method: 'POST', url: '/hook?a=b', id: 'evt', body: '{"a":"ü"}' }]);
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

  it.each([
    ['120', 120_000],
    ['172800', dayMs],
    ['soon', undefined],
  ])('Retry-After %s is told as %s ms', async (header, ms) => {
    expect((await post(await respondWith(503, { 'retry-after': header }))).retryAfterMs).toBe(ms);
  });

  it('connections are reused, and never between two keys', async () => {
    let connections = 0;
    const url = await respondWith(200);
    servers[0]?.on('connection', () => connections++);
    const client = poster();
    for (let i = 0; i < 20; i++) {
      expect((await post(url, client)).status).toBe(200);
      await setImmediate();
    }
    expect(connections).toBe(1);
    expect((await post(url, client, 'other')).status).toBe(200);
    expect(connections).toBe(2);
  });

  it('a kept connection that the server has closed costs no try', async () => {
    let requests = 0;
    let hangUp: () => void = () => undefined;
    const url = await serveRaw((socket) => {
      hangUp = () => socket.destroy();
      socket.on('data', () => {
        requests++;
        if (requests === 2) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
      socket.on('error', () => undefined);
    });
    const client = poster();
    expect((await post(url, client)).status).toBe(200);
    await setImmediate();
    expect((await post(url, client)).status).toBe(200);
    expect(requests).toBe(3);
    hangUp();
  });
});

describe('what goes wrong has a class', () => {
  it('http: a reset on a new connection, once', async () => {
    let connections = 0;
    const url = await serveRaw((socket) => {
      connections++;
      socket.once('data', () => socket.resetAndDestroy());
    });
    const result = await post(url);
    expect([result.error, result.status, connections]).toEqual(['http', undefined, 1]);
  });

  it('http: a peer that does not speak HTTP', async () => {
    const url = await serveRaw((socket) => socket.end('220 mail.example ESMTP\r\n'));
    expect((await post(url)).error).toBe('http');
  });

  it('http: a row of informational responses without an end', async () => {
    const url = await serveRaw(respondWithHints);
    expect(await post(url)).toMatchObject({ error: 'http', body: '' });
  });

  it('http: a response that breaks off', async () => {
    const url = await serveRaw((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'));
    });
    const result = await post(url);
    expect([result.error, result.status, isSuccess(result)]).toEqual(['http', 200, false]);
  });

  it('refused: nothing listens', async () => {
    const url = await respondWith(200);
    await new Promise((done) => servers.splice(0)[0]?.close(done));
    expect((await post(url)).error).toBe('refused');
  });

  it('dns: the name does not resolve', async () => {
    const resolve = () => Promise.reject(new Error('no such name'));
    expect((await post('https://nowhere.example/', poster({ resolve }))).error).toBe('dns');
  });

  it('blocked: the target is in a private range, as a literal or by name', async () => {
    const client = poster({ resolve: async () => ['10.0.0.1'] });
    expect((await post('https://10.0.0.1/', client)).error).toBe('blocked');
    expect((await post('https://[::ffff:10.0.0.1]/', client)).error).toBe('blocked');
    expect((await post('https://inside.example/', client)).error).toBe('blocked');
    expect((await post('not a url', client)).error).toBe('blocked');
    expect((await post('ftp://127.0.0.1/', client)).error).toBe('blocked');
  });

  it('tls: a self-signed certificate, a wrong name, a peer without TLS', async () => {
    const tls = createTlsServer({ cert: testCertificate, key: testCertificateKey }, (_, response) => {
      response.end('secret');
    });
    const port = await listen(tls);
    expect((await post(`https://localhost:${port}/`)).error).toBe('tls');
    const trusting = poster({ certificateAuthority: testCertificate });
    expect(await post(`https://localhost:${port}/`, trusting)).toMatchObject({ status: 200, body: 'secret' });
    expect(await post(`https://127.0.0.1:${port}/`, trusting)).toMatchObject({ status: 200, body: 'secret' });
    expect((await post(`https://other.example:${port}/`, trusting)).error).toBe('tls');
    const plain = await respondWith(200);
    expect((await post(plain.replace('http:', 'https:'))).error).toBe('tls');
  });

  it('tls: a wrong certificate at one address of a name, whose other addresses refuse connections', async () => {
    const port = await listen(createTlsServer({ cert: testCertificate, key: testCertificateKey }));
    const addresses = ['127.0.0.2', '127.0.0.1', '127.0.0.3'];
    expect((await post(`https://two.example:${port}/`, poster({ resolve: async () => addresses }))).error).toBe('tls');
  });

  it('tls: a wrong certificate at one address of a name, whose last address says nothing', async () => {
    const port = await listen(createTlsServer({ cert: testCertificate, key: testCertificateKey }));
    const silent = createSocketServer((socket) => sockets.add(socket));
    servers.push(silent);
    await new Promise<void>((done) => silent.listen(port, '127.0.0.4', done));
    const resolve = async () => ['127.0.0.1', '127.0.0.4'];
    expect((await post(`https://two.example:${port}/`, poster({ resolve, timeoutMs: 60_000 }))).error).toBe('tls');
  });
});

describe('the deadline', () => {
  async function expectTimeout(url: string, options: Partial<PosterOptions> = {}) {
    const { timeoutMs } = { timeoutMs: 300, ...options };
    const result = await post(url, poster({ ...options, timeoutMs }));
    expect(result.error).toBe('timeout');
    expect(result.durationMs).toBeGreaterThanOrEqual(timeoutMs - 1);
    return result;
  }

  it('covers the name look-up', async () => {
    await expectTimeout('https://slow.example/', { resolve: () => new Promise(() => undefined) });
  });

  it('covers the connection', async () => {
    await expectTimeout('https://127.0.0.1/', { dial: () => undefined });
  });

  it('covers the TLS handshake', async () => {
    const url = await serveRaw(() => undefined);
    await expectTimeout(url.replace('http:', 'https:'));
  });

  it('covers the headers', async () => {
    await expectTimeout(await serve(() => undefined));
  });

  it('covers the body, however steadily it drips', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
    // The head has to come in time.
    const result = await expectTimeout(url, { timeoutMs: 2_000 });
    expect([result.status, isSuccess(result)]).toEqual([200, false]);
  });

  it('covers what comes beside a body, in a row without an end', async () => {
    await expectTimeout(await serveRaw(respondWithChunkWithoutEnd));
  });

  it('of one does not touch another, and a connection that was cut is not used again', async () => {
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

  it('2 KiB of it are kept, in whole characters and without NUL', async () => {
    const result = await post(await respondWith(200, {}, `x\0${'€'.repeat(2000)}`));
    expect(result.body).toBe(`x\ufffd${'€'.repeat(681)}`);
    expect(Buffer.byteLength(result.body)).toBeLessThanOrEqual(2048);
    const bytes = await post(await respondWith(200, {}, Buffer.alloc(5000, 0xff)));
    expect(Buffer.byteLength(bytes.body)).toBeLessThanOrEqual(2048);
  });

  it('64 KiB are taken, a byte more is a failure of a 2xx', async () => {
    const whole = await post(await respondWith(200, {}, Buffer.alloc(limit, 'a')));
    expect([whole.status, whole.error, whole.body.length]).toEqual([200, undefined, 2048]);
    const more = await post(await respondWith(200, {}, Buffer.alloc(limit + 1, 'a')));
    expect([more.status, more.error, isSuccess(more), more.body.length]).toEqual([200, 'too_large', false, 2048]);
  });

  it('so are 8,192 chunks, and one more is a failure as well', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const inChunks = (count: number) =>
      serveRaw((socket) => socket.once('data', () => socket.write(`${head}${'1\r\na\r\n'.repeat(count)}0\r\n\r\n`)));
    const taken = await post(await inChunks(8_192));
    expect([taken.status, taken.error, taken.body]).toEqual([200, undefined, 'a'.repeat(2_048)]);
    const more = await post(await inChunks(8_193));
    expect([more.status, more.error]).toEqual([200, 'too_large']);
  });

  it('a long response to a failure stays that failure', async () => {
    const result = await post(await respondWith(410, {}, Buffer.alloc(limit * 4, 'a')));
    expect([result.status, result.error]).toEqual([410, undefined]);
  });

  it('an endless response is cut and not read on', async () => {
    let written = 0;
    const url = await serve((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      response.writeHead(200).on('drain', more);
      more();
    });
    const result = await post(url);
    expect([result.error, isSuccess(result)]).toEqual(['too_large', false]);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  const text = Buffer.from(`{"ok":true}${' '.repeat(1000)}`);
  it.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
  ])('%s is decompressed', async (encoding, bytes) => {
    const result = await post(await respondWith(200, { 'content-encoding': encoding }, bytes));
    expect(result).toMatchObject({ status: 200, body: text.toString() });
    expect(result.error).toBeUndefined();
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(20 * 1024 * 1024))],
    ['deflate', deflateSync(Buffer.alloc(20 * 1024 * 1024))],
    ['br', brotliCompressSync(Buffer.alloc(20 * 1024 * 1024))],
    ['gzip', gzipSync(Buffer.alloc(limit + 1))],
    ['gzip', gzipSync(randomBytes(limit * 4))],
    ['br, gzip', gzipSync(brotliCompressSync(Buffer.alloc(200 * 1024 * 1024)))],
  ])('a %s bomb is cut', async (encoding, bytes) => {
    const result = await post(await respondWith(200, { 'content-encoding': encoding }, bytes));
    expect([result.error, isSuccess(result)]).toEqual(['too_large', false]);
  });

  it('zstd that asks for a window of 128 MiB is left as it came', async () => {
    const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
    stream.write(text);
    const bytes = await buffer(stream.end());
    const result = await post(await respondWith(200, { 'content-encoding': 'zstd' }, bytes));
    expect([result.status, result.error, result.body === text.toString()]).toEqual([200, undefined, false]);
  });

  it('compressed noise of exactly 64 KiB is taken, and broken compression leaves the status its word', async () => {
    const noise = await post(await respondWith(200, { 'content-encoding': 'gzip' }, gzipSync(randomBytes(limit))));
    expect([noise.status, noise.error]).toEqual([200, undefined]);
    const broken = await post(await respondWith(200, { 'content-encoding': 'gzip' }, 'not gzip'));
    expect([broken.status, broken.error, broken.body]).toEqual([200, undefined, 'not gzip']);
  });
});

describe('sockets are bounded', () => {
  it('per key: what is beyond waits for its turn', async () => {
    let open = 0;
    let most = 0;
    const url = await serve((request, response) => {
      most = Math.max(most, ++open);
      request.resume().on('end', () => {
        open--;
        response.end();
      });
    });
    const client = poster({ maxSocketsPerPool: 2 });
    const results = await Promise.all(Array.from({ length: 30 }, () => post(url, client)));
    expect(results.every(isSuccess)).toBe(true);
    expect([most <= 2, client.openSockets()]).toEqual([true, 2]);
  });

  it('in all: idle connections make room, and everything is still delivered', async () => {
    const url = await respondWith(200);
    const client = poster({ maxSockets: 5 });
    const results = await Promise.all(Array.from({ length: 40 }, (_, i) => post(url, client, `endpoint ${i}`)));
    expect(results.every(isSuccess)).toBe(true);
    expect(client.openSockets()).toBeLessThanOrEqual(5);
  });

  it('in all: an endpoint that hangs keeps its idle connections from nobody, and can be cut off afterwards', async () => {
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
});
