import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { respondWithChunkWithoutEnd, respondWithHints } from '../test/endless-responses.ts';
import { parseAddressRanges } from './address-ranges.ts';
import { createGetter, type GetRequest, type Getter, type GetterOptions } from './get.ts';
import { checkPageUrl } from './guarded-connector.ts';

const mebibyte = 1_048_576;
const servers: Server[] = [];
const sockets = new Set<Socket>();
const getters: Getter[] = [];

afterEach(async () => {
  await Promise.all(getters.splice(0).map((getter) => getter.close()));
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (listener: RequestListener) => listen(createServer(listener));
const serveRaw = (onConnection: (socket: Socket) => void) => listen(createSocketServer(onConnection));
const respondWith = (status: number, headers: Record<string, string>, body: string | Buffer = '') =>
  serve((_, response) => response.writeHead(status, headers).end(body));

function getter(options: Partial<GetterOptions> = {}): Getter {
  const made = createGetter({
    allowedRanges: parseAddressRanges('127.0.0.0/8'),
    resolve: async () => ['127.0.0.1'],
    userAgent: 'reader/1.0',
    timeoutMs: 20_000,
    maxSocketsPerPool: 4,
    maxSockets: 8,
    ...options,
  });
  getters.push(made);
  return made;
}

const get = (url: string, request: Partial<GetRequest> = {}, options: Partial<GetterOptions> = {}) =>
  getter(options).get({ poolKey: 'source', url, ...request });

describe('one GET', () => {
  it('sends its headers and returns the response', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const url = await serve((request, response) => {
      seen.push(request.headers);
      response.writeHead(200, { ETag: '"a"', 'Last-Modified': 'Sat, 21 Nov 2026 03:00:30 GMT' }).end('page');
    });
    const result = await get(`${url}/a?b=c#d`, { headers: { 'if-none-match': '"b"' } });
    expect(result).toMatchObject({ status: 200, body: Buffer.from('page'), url: `${url}/a?b=c` });
    expect(result).toMatchObject({ headers: { etag: '"a"', 'last-modified': 'Sat, 21 Nov 2026 03:00:30 GMT' } });
    expect(seen[0]).toMatchObject({ 'user-agent': 'reader/1.0', 'if-none-match': '"b"' });
  });

  it.each([200, 304, 404, 500])('status %d is a response', async (status) => {
    expect(await get(await respondWith(status, {}))).toMatchObject({ status });
  });

  it('connections are reused, and sockets bounded', async () => {
    let connections = 0;
    const url = await respondWith(200, {}, 'x');
    servers[0]!.on('connection', () => connections++);
    const client = getter();
    await Promise.all(Array.from({ length: 40 }, () => client.get({ poolKey: 'a', url })));
    expect([connections <= 4, client.openSockets() <= 4]).toEqual([true, true]);
  });

  it('stops when its signal says so, before and while it waits', async () => {
    const hangs = await serve(() => undefined);
    const stop = new AbortController();
    const running = get(hangs, { signal: stop.signal });
    stop.abort();
    expect(await running).toMatchObject({ error: 'stopped' });
    expect(await get(hangs, { signal: stop.signal })).toMatchObject({ error: 'stopped' });
  });
});

describe('a GET that is over', () => {
  // Longer than a test may take: what ends before has been ended.
  const patient = (maxSockets: number, options: Partial<GetterOptions> = {}) =>
    getter({ timeoutMs: 600_000, maxSockets, ...options });
  const expectResponse = async (client: Getter) => {
    const url = await respondWith(200, {}, 'x');
    expect(await client.get({ poolKey: 'other', url })).toMatchObject({ status: 200 });
  };

  it('ends its TLS handshake, and holds no socket', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    let connections = 0;
    let closed = 0;
    const silent = await serveRaw((socket) => {
      if (++connections === 4) begun.resolve();
      socket
        .on('error', () => undefined)
        .on('close', () => {
          if (++closed === 4) ended.resolve();
        })
        .resume();
    });
    const client = patient(4);
    const stop = new AbortController();
    const request = { poolKey: 'hangs', url: silent.replace('http:', 'https:'), signal: stop.signal };
    const hanging = Array.from({ length: 4 }, () => client.get(request));
    await begun.promise;
    stop.abort();
    for (const result of await Promise.all(hanging)) expect(result).toMatchObject({ error: 'stopped' });
    await expectResponse(client);
    await ended.promise;
  });

  it('waits no more for its name to be resolved, and holds no socket', async () => {
    const begun = Promise.withResolvers<void>();
    const resolve = () => {
      begun.resolve();
      return new Promise<string[]>(() => undefined);
    };
    const client = patient(1, { resolve });
    const stop = new AbortController();
    const hanging = client.get({ poolKey: 'hangs', url: 'https://silent.example/', signal: stop.signal });
    await begun.promise;
    stop.abort();
    expect(await hanging).toMatchObject({ error: 'stopped' });
    await expectResponse(client);
  });
});

describe('redirects', () => {
  it('are followed, and the URL is where they led to', async () => {
    const url = await serve(({ url: path }, response) => {
      if (path === '/end') response.end('there');
      else response.writeHead(302, { location: path === '/1' ? '/2' : 'end#part' }).end('ignored');
    });
    expect(await get(`${url}/1`)).toMatchObject({ status: 200, url: `${url}/end`, body: Buffer.from('there') });
  });

  it('five are followed, the sixth and a loop are not', async () => {
    let requests = 0;
    const url = await serve(({ url: path }, response) => {
      requests++;
      const left = Number(path!.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(307, { location: `/${left === 99 ? 99 : left - 1}` }).end();
    });
    expect(await get(`${url}/5`)).toMatchObject({ status: 200 });
    expect(await get(`${url}/6`)).toMatchObject({ error: 'redirects' });
    requests = 0;
    expect(await get(`${url}/99`)).toMatchObject({ error: 'redirects' });
    expect(requests).toBe(6);
  });

  it.each([
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:127.0.0.1]/',
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'http://user:secret@127.0.0.1/',
  ])('to %s are refused, and nothing is dialled', async (location) => {
    const dialled: string[] = [];
    const url = await respondWith(301, { location });
    const resolve = async () => ['127.0.0.1'];
    const client = getter({ resolve });
    servers[0]!.on('connection', () => dialled.push('one'));
    const result = await client.get({ poolKey: 'a', url });
    expect(result).toMatchObject({ error: 'blocked', message: expect.not.stringContaining('10.0.0.1') });
    expect(dialled).toEqual(['one']);
  });

  it('to a name that leads inside are refused, and to where the caller does not want to', async () => {
    const url = await respondWith(301, { location: 'http://inside.example/' });
    const resolve = async () => ['10.0.0.7'];
    expect(await get(url, {}, { resolve })).toMatchObject({ error: 'blocked' });
    const refusalOf = async (target: string) => `${new URL(target).host} is not wanted`;
    expect(await get(url, { refusalOf })).toEqual({ error: 'stopped', message: 'inside.example is not wanted' });
  });
});

describe('what goes wrong has a class, and a message without addresses', () => {
  it('dns, refused, blocked', async () => {
    const resolve = () => Promise.reject(new Error('no such name'));
    expect(await get('http://nowhere.example/', {}, { resolve })).toMatchObject({ error: 'dns' });
    const url = await respondWith(200, {});
    await new Promise((done) => servers.splice(0)[0]!.close(done));
    expect(await get(url)).toEqual({ error: 'refused', message: 'it refuses connections' });
    for (const target of ['http://10.0.0.1/', 'https://[::1]/', 'file:///etc/passwd', 'no url']) {
      expect(await get(target)).toMatchObject({ error: 'blocked' });
    }
  });

  it('plain http to a public address is dialled', async () => {
    const dialled: unknown[] = [];
    const dial: GetterOptions['dial'] = ({ hostname }, callback) => {
      dialled.push(hostname);
      callback(Object.assign(new Error('not today'), { code: 'ECONNREFUSED' }), null);
    };
    const options = { dial, resolve: async () => ['93.184.216.34'] };
    expect(await get('http://public.example/', {}, options)).toMatchObject({ error: 'refused' });
    expect(dialled).toEqual(['93.184.216.34']);
  });

  it('http: a response that breaks off, no HTTP, a flood of headers, an encoding that is not known or not kept to', async () => {
    const cut = await serveRaw((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'));
    });
    expect(await get(cut)).toMatchObject({ error: 'http' });
    expect(await get(await serveRaw((socket) => socket.end('220 mail ESMTP\r\n')))).toMatchObject({ error: 'http' });
    let written = 0;
    const flood = await serveRaw((socket) => {
      const line = `x-${'h'.repeat(1_000)}: ${'v'.repeat(1_000)}\r\n`;
      const more = () => {
        while (!socket.destroyed && written < 64 * mebibyte && socket.write(line)) written += line.length;
      };
      socket
        .on('error', () => undefined)
        .once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\n');
          more();
        });
      socket.on('drain', more);
    });
    expect(await get(flood)).toMatchObject({ error: 'http' });
    expect(written).toBeLessThan(32 * mebibyte);
    expect(await get(await respondWith(200, { 'content-encoding': 'compress' }, 'x'))).toMatchObject({ error: 'http' });
    expect(await get(await respondWith(200, { 'content-encoding': 'gzip' }, 'not gzip'))).toMatchObject({
      error: 'http',
    });
    const nested = { 'content-encoding': 'gzip, gzip, gzip, gzip' };
    expect(await get(await respondWith(200, nested, 'x'))).toMatchObject({ error: 'http' });
  });

  it.each<[string, (write: (text: string) => void) => void]>([
    ['no response', () => undefined],
    ['headers that drip', (write) => write('HTTP/1.1 200 OK\r\nx: ')],
    ['a body that drips', (write) => write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')],
  ])('timeout: %s', async (_, begin) => {
    const url = await serveRaw((socket) => {
      socket.on('error', () => undefined).once('data', () => begin((text) => socket.write(text)));
      const drip = setInterval(() => socket.writable && socket.write(socket.bytesWritten ? '1\r\nx\r\n' : ''), 20);
      socket.on('close', () => clearInterval(drip));
    });
    const result = await get(url, {}, { timeoutMs: 300 });
    expect(['timeout', 'http']).toContain(result.error);
  });

  it('http: a row of informational responses without an end', async () => {
    const url = await serveRaw(respondWithHints);
    const result = await get(url);
    expect(result).toEqual({ error: 'http', message: 'its response does not begin' });
  });

  it('timeout: what comes beside a body, in a row without an end', async () => {
    const url = await serveRaw(respondWithChunkWithoutEnd);
    expect(await get(url, {}, { timeoutMs: 300 })).toMatchObject({ error: 'timeout' });
  });

  it('timeout: all redirects together', async () => {
    const url = await serve((_, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 120);
    });
    expect(await get(url, {}, { timeoutMs: 300 })).toMatchObject({ error: 'timeout' });
  });
});

describe('the body is bounded', () => {
  it('to the byte, and its beginning can be had', async () => {
    const options = { maxBodyBytes: 1_000 };
    expect(await get(await respondWith(200, {}, 'a'.repeat(1_000)), {}, options)).toMatchObject({ status: 200 });
    const long = await respondWith(200, {}, 'a'.repeat(1_001));
    expect(await get(long, {}, options)).toMatchObject({ error: 'too_large' });
    expect(await get(long, { cutsBody: true }, options)).toMatchObject({ body: Buffer.from('a'.repeat(1_000)) });
    expect(await get(long, { maxBodyBytes: 10, cutsBody: true }, options)).toMatchObject({
      body: Buffer.alloc(10, 'a'),
    });
  });

  it('an endless one is cut and not read on', async () => {
    let written = 0;
    const url = await serve((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      response.writeHead(200).on('drain', more);
      more();
    });
    expect(await get(url)).toMatchObject({ error: 'too_large' });
    expect(written).toBeLessThan(64 * mebibyte);
  });

  const text = Buffer.from(`<p>${'open '.repeat(1_000)}</p>`);
  it.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['identity', text],
  ])('%s is inflated', async (encoding, bytes) => {
    expect(await get(await respondWith(200, { 'content-encoding': encoding }, bytes))).toMatchObject({ body: text });
  });

  const zeros = Buffer.alloc(100 * mebibyte);
  /** Of zstd, before blocks of zeros: each is empty. */
  const frameHeader = Buffer.from('28b52ffd0000', 'hex');
  it.each([
    ['gzip', gzipSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['zstd', zstdCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
    ['zstd, zstd', zstdCompressSync(Buffer.concat([frameHeader, zeros]))],
    ['gzip', gzipSync(randomBytes(6 * mebibyte))],
  ])('a %s bomb is stopped while it is inflated', async (encoding, bytes) => {
    const url = await respondWith(200, { 'content-encoding': encoding }, bytes);
    const client = getter();
    let most = 0;
    const before = process.memoryUsage.rss();
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss() - before);
    }, 1);
    const result = await client.get({ poolKey: 'a', url });
    clearInterval(watch);
    expect(result).toMatchObject({ error: 'too_large' });
    expect(Math.max(most, process.memoryUsage.rss() - before)).toBeLessThan(50 * mebibyte);
  });
});

describe('checkPageUrl', () => {
  const resolve = async (name: string) => (name === 'inside.example' ? ['10.0.0.7'] : ['93.184.216.34']);
  const check = (url: string) => checkPageUrl(url, { allowedRanges: parseAddressRanges('127.0.0.0/8'), resolve });

  it.each(['http://public.example/', 'https://public.example/help', 'http://93.184.216.34/', 'http://127.0.0.1:80/'])(
    '%s may be a page',
    async (url) => {
      expect(await check(url)).toBeNull();
    },
  );

  it.each([
    ['http://10.0.0.1/', 'public address'],
    ['http://inside.example/', 'public address'],
    ['http://169.254.169.254/', 'public address'],
    ['ftp://public.example/', 'https:// or http://'],
    ['file:///etc/passwd', 'https:// or http://'],
    ['http://user:secret@public.example/', 'user or a password'],
    ['public.example', 'absolute URL'],
    [`https://public.example/${'a'.repeat(2_048)}`, '2048 characters'],
  ])('%s is refused', async (url, reason) => {
    expect(await check(url)).toContain(reason);
  });
});
