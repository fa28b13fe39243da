import { randomBytes } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeLoopback,
  methods,
  respondWith,
  respondWithChunkWithoutEnd,
  respondWithHints,
  serve,
  serveRaw,
  stoppedServerUrl,
} from '../test/loopback.ts';

const mebibyte = 1_048_576;
const never = () => new Promise<never>(() => undefined);

afterEach(closeLoopback);

describe.each(methods)('a failed %s has a class', (_, makeSend) => {
  it('dns and refused', async () => {
    const resolve = () => Promise.reject(new Error('no such name'));
    expect(await makeSend({ resolve })('https://nowhere.example/')).toMatchObject({ error: 'dns' });
    expect(await makeSend()(await stoppedServerUrl())).toMatchObject({ error: 'refused' });
  });

  it.each([
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://inside.example/',
    'not a url',
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
  ])('blocked: %s', async (target) => {
    const send = makeSend({ resolve: async () => ['10.0.0.1'] });
    expect(await send(target)).toMatchObject({ error: 'blocked' });
  });

  it('http: no HTTP, a response that breaks off, and endless informational responses', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc';
    for (const url of [
      await serveRaw((socket) => socket.end('220 mail.example ESMTP\r\n')),
      await serveRaw((socket) => socket.once('data', () => socket.end(head))),
      await serveRaw(respondWithHints),
    ])
      expect(await makeSend()(url)).toMatchObject({ error: 'http' });
  });

  it.each<[string, () => Promise<string> | string, object]>([
    ['the name look-up', () => 'https://slow.example/', { resolve: never }],
    ['the connection', () => 'https://127.0.0.1/', { dial: () => undefined }],
    ['the TLS handshake', async () => (await serveRaw(() => undefined)).replace('http:', 'https:'), {}],
    ['the headers', () => serve(() => undefined), {}],
    ['headers that drip', () => dripping('HTTP/1.1 200 OK\r\nx: ', 'x'), {}],
    ['a body that drips', () => dripping('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'), {}],
    ['an endless chunk extension in a body', () => serveRaw(respondWithChunkWithoutEnd), {}],
  ])('timeout: its deadline covers %s', async (_what, target, options) => {
    const send = makeSend({ timeoutMs: 300, ...options });
    expect(await send(await target())).toMatchObject({ error: 'timeout' });
  });
});

/** Starts a server that sends the head of a response, then a part every 20 ms. */
function dripping(head: string, part: string): Promise<string> {
  return serveRaw((socket) => {
    socket.once('data', () => socket.write(head));
    const drip = setInterval(() => socket.bytesWritten && socket.writable && socket.write(part), 20);
    socket.on('close', () => clearInterval(drip));
  });
}

const text = Buffer.from(`{"ok":true}${' '.repeat(1000)}`);
const zeros = Buffer.alloc(70 * mebibyte);

describe.each(methods)('the response to a %s', (_, makeSend) => {
  it.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['identity', text],
  ])('is decompressed if its encoding is %s', async (encoding, bytes) => {
    const result = await makeSend()(await respondWith(200, { 'content-encoding': encoding }, bytes));
    expect(result).toMatchObject({ status: 200 });
    expect(String('body' in result && result.body)).toBe(text.toString());
  });

  it.each([
    ['gzip', gzipSync(zeros)],
    ['deflate', deflateSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
    ['gzip', gzipSync(randomBytes(6 * mebibyte))],
  ])('is cut while it is decompressed if it is a %s bomb', async (encoding, bytes) => {
    const url = await respondWith(200, { 'content-encoding': encoding }, bytes);
    const before = process.memoryUsage.rss();
    let most = 0;
    const measure = () => {
      most = Math.max(most, process.memoryUsage.rss() - before);
    };
    const watch = setInterval(measure, 1);
    const result = await makeSend()(url);
    clearInterval(watch);
    measure();
    expect(result).toMatchObject({ error: 'too_large' });
    expect(most).toBeLessThan(50 * mebibyte);
  });

  it('is not read further if it is endless', async () => {
    let written = 0;
    const url = await serve((request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      request.resume().on('end', () => {
        response.writeHead(200).on('drain', more);
        more();
      });
    });
    expect(await makeSend()(url)).toMatchObject({ error: 'too_large' });
    expect(written).toBeLessThan(64 * mebibyte);
  });
});

describe.each(methods)('the sockets of a %s', (_, makeSend) => {
  it('are reused, never shared by two keys, and bounded for each key: further requests wait', async () => {
    let connections = 0;
    const url = await serve(
      (request, response) => request.resume().on('end', () => response.end('x')),
      () => connections++,
    );
    const send = makeSend({ maxSocketsPerPool: 2 });
    const results = await Promise.all(Array.from({ length: 30 }, () => send(url)));
    expect(new Set(results.map(({ error }) => error))).toEqual(new Set([undefined]));
    expect([connections, send.openSockets()]).toEqual([2, 2]);
    await send(url, 'other');
    expect(connections).toBe(3);
  });

  it('are bounded in total: idle ones are closed, and every request still gets its response', async () => {
    const url = await respondWith(200);
    const send = makeSend({ maxSockets: 5 });
    const results = await Promise.all(Array.from({ length: 40 }, (_none, index) => send(url, `key ${index}`)));
    expect(new Set(results.map(({ error }) => error))).toEqual(new Set([undefined]));
    expect(send.openSockets()).toBeLessThanOrEqual(5);
  });
});
