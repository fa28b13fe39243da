import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { UnfinishedHeads } from './unfinished-heads.ts';

const whole = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const part = `GET / HTTP/1.1\r\nHost: x\r\n${'a: 1\r\n'.repeat(40)}`;
let heads: UnfinishedHeads;
let server: Server;
let responses: ServerResponse[];
let sockets: Socket[];
let clients: Socket[];

beforeEach(async () => {
  [responses, sockets, clients] = [[], [], []];
  // Looked at by the tests alone.
  heads = new UnfinishedHeads(20, 3_600_000);
  server = createServer((_request, response) => responses.push(response));
  server.on('connection', (socket) => {
    heads.watch(socket);
    sockets.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  heads.stop();
  for (const client of clients) client.destroy();
  server.close();
});

/** Opens connections from an address, each of which sends a text, and waits until all of it has come; returns this side of them. */
async function open(count: number, from: string, text: string): Promise<Socket[]> {
  const { port } = server.address() as { port: number };
  const before = sockets.length;
  const opened = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress: from }));
  clients.push(...opened);
  for (const client of opened) client.on('error', () => undefined).write(text);
  const came = () => sockets.slice(before).filter(({ bytesRead }) => bytesRead === text.length);
  return await waitFor('all of it', () => came().length === count && came());
}

const cutOf = (opened: Socket[]) => opened.filter(({ destroyed }) => destroyed);

it('are cut where they are too many, the oldest of those networks that have the most', async () => {
  const old = await open(10, '127.0.0.1', part);
  heads.look();
  const young = await open(15, '127.0.0.1', part);
  const other = await open(3, '127.0.0.2', part);
  heads.look();
  expect(cutOf(old)).toEqual(old.slice(0, 8));
  expect(cutOf([...young, ...other])).toEqual([]);
  heads.look();
  expect(cutOf(sockets)).toHaveLength(8);
});

it('are cut no more of than there are too many, however many networks have one', async () => {
  const opened: Socket[] = [];
  for (let each = 1; each <= 23; each++) opened.push(...(await open(1, `127.0.0.${each}`, part)));
  heads.look();
  expect(cutOf(opened)).toEqual(opened.slice(0, 3));
});

it('count behind a request too, and connections whose heads are complete do not', async () => {
  const underWay = await open(10, '127.0.0.1', whole);
  const idle = await open(10, '127.0.0.1', whole);
  const bodies = await open(10, '127.0.0.1', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbody');
  await waitFor('the requests', () => responses.length === 30);
  const ended = responses.filter(({ socket }) => !underWay.includes(socket as Socket));
  const closed = ended.map((response) => once(response, 'close'));
  for (const response of ended) response.end();
  await Promise.all(closed);
  const unfinished = [...(await open(11, '127.0.0.2', part)), ...(await open(10, '127.0.0.2', whole + part))];
  heads.look();
  expect(cutOf([...underWay, ...idle, ...bodies])).toEqual([]);
  expect(cutOf(unfinished)).toHaveLength(1);
});
