import type { IncomingHttpHeaders } from 'node:http';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeLoopback, getter, respondWith, serve, serveRaw, stoppedServerUrl } from '../test/loopback.ts';
import { parseAddressRanges } from './address-ranges.ts';
import type { GetRequest, Getter, GetterOptions } from './get.ts';
import { checkPageUrl } from './guarded-connector.ts';

const mebibyte = 1_048_576;

afterEach(closeLoopback);

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
    expect(await get(await respondWith(status))).toMatchObject({ status });
  });

  it('stops when its signal aborts, before and during the request', async () => {
    const hangs = await serve(() => undefined);
    const stop = new AbortController();
    const running = get(hangs, { signal: stop.signal });
    stop.abort();
    expect(await running).toMatchObject({ error: 'stopped' });
    expect(await get(hangs, { signal: stop.signal })).toMatchObject({ error: 'stopped' });
  });
});

describe('an aborted GET', () => {
  // Longer than a test may take, so the deadline ends no request.
  const patient = (maxSockets: number, options: Partial<GetterOptions> = {}) =>
    getter({ timeoutMs: 600_000, maxSockets, ...options });
  const expectResponse = async (client: Getter) => {
    const url = await respondWith(200, {}, 'x');
    expect(await client.get({ poolKey: 'other', url })).toMatchObject({ status: 200 });
  };

  it('ends its TLS handshake and holds no socket', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    let connections = 0;
    let closed = 0;
    const silent = await serveRaw((socket) => {
      if (++connections === 4) begun.resolve();
      socket.on('close', () => ++closed === 4 && ended.resolve()).resume();
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

  it('stops waiting for its name to be resolved and holds no socket', async () => {
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
  it('are followed, and the URL of the result is the final one', async () => {
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

  it('share one deadline', async () => {
    const url = await serve((_, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 120);
    });
    expect(await get(url, {}, { timeoutMs: 300 })).toMatchObject({ error: 'timeout' });
  });

  it.each([
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:127.0.0.1]/',
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'http://user:secret@127.0.0.1/',
  ])('to %s are refused without a connection attempt', async (location) => {
    let dials = 0;
    const url = await serve(
      (_, response) => response.writeHead(301, { location }).end(),
      () => dials++,
    );
    const result = await get(url);
    expect(result).toMatchObject({ error: 'blocked', message: expect.not.stringContaining('10.0.0.1') });
    expect(dials).toBe(1);
  });

  it('to a name with a private address are refused, and so are targets that the caller refuses', async () => {
    const url = await respondWith(301, { location: 'http://inside.example/' });
    const resolve = async () => ['10.0.0.7'];
    expect(await get(url, {}, { resolve })).toMatchObject({ error: 'blocked' });
    const refusalOf = async (target: string) => `${new URL(target).host} is not wanted`;
    expect(await get(url, { refusalOf })).toEqual({ error: 'stopped', message: 'inside.example is not wanted' });
  });
});

describe('a failure', () => {
  it('has a readable message without addresses', async () => {
    expect(await get(await stoppedServerUrl())).toEqual({ error: 'refused', message: 'it refuses connections' });
  });

  it('does not come from plain http to a public address: the getter connects', async () => {
    const dialed: unknown[] = [];
    const dial: GetterOptions['dial'] = ({ hostname }, callback) => {
      dialed.push(hostname);
      callback(Object.assign(new Error('not today'), { code: 'ECONNREFUSED' }), null);
    };
    const options = { dial, resolve: async () => ['93.184.216.34'] };
    expect(await get('http://public.example/', {}, options)).toMatchObject({ error: 'refused' });
    expect(dialed).toEqual(['93.184.216.34']);
  });

  it('comes from a flood of headers, of which little is read', async () => {
    let written = 0;
    const flood = await serveRaw((socket) => {
      const line = `x-${'h'.repeat(1_000)}: ${'v'.repeat(1_000)}\r\n`;
      const more = () => {
        while (!socket.destroyed && written < 64 * mebibyte && socket.write(line)) written += line.length;
      };
      socket.on('drain', more).once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n');
        more();
      });
    });
    expect(await get(flood)).toMatchObject({ error: 'http' });
    expect(written).toBeLessThan(32 * mebibyte);
  });

  it.each(['compress', 'gzip', 'gzip, gzip, gzip, gzip'])(
    'comes from an encoding that is unknown, violated or too deep: %s',
    async (encoding) => {
      const url = await respondWith(200, { 'content-encoding': encoding }, 'not gzip');
      expect(await get(url)).toMatchObject({ error: 'http' });
    },
  );
});

describe('the body', () => {
  it('is bounded to the byte, and cutsBody returns its beginning', async () => {
    const options = { maxBodyBytes: 1_000 };
    expect(await get(await respondWith(200, {}, 'a'.repeat(1_000)), {}, options)).toMatchObject({ status: 200 });
    const long = await respondWith(200, {}, 'a'.repeat(1_001));
    expect(await get(long, {}, options)).toMatchObject({ error: 'too_large' });
    expect(await get(long, { cutsBody: true }, options)).toMatchObject({ body: Buffer.from('a'.repeat(1_000)) });
    expect(await get(long, { maxBodyBytes: 10, cutsBody: true }, options)).toMatchObject({
      body: Buffer.alloc(10, 'a'),
    });
  });

  it('may be zstd, also nested, and a zstd bomb is stopped', async () => {
    const zstd = (encoding: string, bytes: Buffer) => respondWith(200, { 'content-encoding': encoding }, bytes);
    const text = Buffer.from(`<p>${'open '.repeat(1_000)}</p>`);
    expect(await get(await zstd('zstd', zstdCompressSync(text)))).toMatchObject({ body: text });
    const zeros = Buffer.alloc(70 * mebibyte);
    expect(await get(await zstd('zstd', zstdCompressSync(zeros)))).toMatchObject({ error: 'too_large' });
    // A frame header followed by zeros: three zero bytes are an empty block.
    const blocks = Buffer.concat([Buffer.from('28b52ffd0000', 'hex'), zeros]);
    expect(await get(await zstd('zstd, zstd', zstdCompressSync(blocks)))).toMatchObject({ error: 'too_large' });
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
