import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeLoopback, methods, poster, serveRaw } from '../test/loopback.ts';
import type { Poster } from './post.ts';

const emptyResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

afterEach(closeLoopback);

/** One request as a server sees it: its connection, and its number on that connection, both from 1. */
type Seen = { connection: number; request: number; socket: Socket };

/** A server that calls back for each request, which is small enough to arrive in one piece. */
async function serve(onRequest: (seen: Seen) => void) {
  const seen: string[] = [];
  let connections = 0;
  const url = await serveRaw((socket) => {
    const connection = ++connections;
    let request = 0;
    socket.on('data', () => {
      request++;
      seen.push(`${connection}.${request}`);
      onRequest({ connection, request, socket });
    });
  });
  return { url, seen, connections: () => connections };
}

const post = (client: Poster, url: string, poolKey = 'endpoint') =>
  client.post({ poolKey, url, headers: {}, body: '{}' });

describe.each(methods)('a %s over a reused connection that closes before it gets a response', (_, makeSend) => {
  it('is sent again, also if another connection opened meanwhile', async () => {
    const server = await serve(({ connection, request, socket }) => {
      if (connection > 1 || request === 1) socket.write(emptyResponse);
      else void waitFor('another connection', () => server.connections() > 1).then(() => socket.destroy());
    });
    const send = makeSend();
    expect(await send(server.url)).toMatchObject({ status: 200 });
    await setImmediate();
    const both = await Promise.all([send(server.url), send(server.url)]);
    expect(both).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(server.seen.toSorted()).toEqual(['1.1', '1.2', '2.1', '3.1']);
  });

  it('is sent again over a new connection, not over another idle one', async () => {
    const held: Socket[] = [];
    const server = await serve(({ request, socket }) => {
      if (request > 1) socket.destroy();
      else if (held.push(socket) === 3) for (const one of held) one.write(emptyResponse);
      else if (held.length > 3) socket.write(emptyResponse);
    });
    const send = makeSend();
    await Promise.all([send(server.url), send(server.url), send(server.url)]);
    await setImmediate();
    expect(await send(server.url)).toMatchObject({ status: 200 });
    expect(server.seen.filter((one) => one.endsWith('.2'))).toHaveLength(1);
    expect([server.seen.at(-1), server.connections()]).toEqual(['4.1', 4]);
  });

  it('is sent again once', async () => {
    const server = await serve(({ connection, request, socket }) => {
      if (connection === 1 && request === 1) socket.write(emptyResponse);
      else socket.destroy();
    });
    const send = makeSend();
    await send(server.url);
    await setImmediate();
    expect(await send(server.url)).toMatchObject({ error: 'http' });
    expect(server.seen).toEqual(['1.1', '1.2', '2.1']);
  });

  it('is not sent again after any byte of a response', async () => {
    const server = await serve(({ request, socket }) => {
      if (request === 1) socket.write(emptyResponse);
      else socket.end('HTTP/1.1 2');
    });
    const send = makeSend();
    await send(server.url);
    await setImmediate();
    expect(await send(server.url)).toMatchObject({ error: 'http' });
    expect(server.seen).toEqual(['1.1', '1.2']);
  });
});

it('a request that must not arrive twice is not sent again', async () => {
  const server = await serve(({ request, socket }) => {
    if (request === 1) socket.write(emptyResponse);
    else socket.destroy();
  });
  const client = poster({ neverResends: true });
  await post(client, server.url);
  await setImmediate();
  expect(await post(client, server.url)).toMatchObject({ error: 'http' });
  expect(server.seen).toEqual(['1.1', '1.2']);
});

describe('aborting a key', () => {
  it('aborts its requests, resent ones too, and none of other keys', async () => {
    const server = await serve(({ connection, request, socket }) => {
      if (connection > 1) return;
      if (request === 1) socket.write(emptyResponse);
      else socket.destroy();
    });
    const client = poster();
    await post(client, server.url);
    await setImmediate();
    const resent = post(client, server.url);
    await waitFor('the second connection', () => server.seen.includes('2.1'));
    const hung = post(client, server.url);
    const other = post(client, server.url, 'other');
    await waitFor('all to be sent', () => server.seen.length === 5);
    client.abort('endpoint');
    const cutOff = { error: 'http', isAborted: true };
    expect(await Promise.all([resent, hung])).toMatchObject([cutOff, cutOff]);
    await waitFor('its sockets to be free', () => client.openSockets() === 1);
    expect([server.seen.length, await Promise.race([other, 'waits'])]).toEqual([5, 'waits']);
  });

  it('aborts a connection attempt, whose socket is free at once', async () => {
    const server = await serve(() => undefined);
    const client = poster();
    // The server accepts and sends nothing, so the handshake does not end.
    const connecting = post(client, server.url.replace('http:', 'https:'));
    await waitFor('the connection', () => server.seen.length === 1);
    client.abort('endpoint');
    expect(await connecting).toMatchObject({ error: 'http', isAborted: true });
    await waitFor('its socket to be free', () => client.openSockets() === 0);
    const again = post(client, server.url);
    await waitFor('the next request', () => server.seen.length === 2);
    expect(await Promise.race([again, 'waits'])).toBe('waits');
  });
});
