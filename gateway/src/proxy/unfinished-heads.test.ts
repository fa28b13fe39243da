import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { UnfinishedHeads } from './unfinished-heads.ts';

const head = 'GET / HTTP/1.1\r\nHost: x\r\n';
let heads: UnfinishedHeads;
let server: Server;
let responses: ServerResponse[];
let sockets: Socket[];
let clients: Socket[];

beforeEach(async () => {
  [responses, sockets, clients] = [[], [], []];
  // Looked at by the tests alone.
  heads = new UnfinishedHeads(20, 3_600_000);
  server = createServer((request, response) => {
    heads.begin(request.socket, response);
    responses.push(response);
  });
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

/** Opens connections from an address, each of which sends a text, and waits until all of it has come. */
async function open(count: number, from: string, text: string): Promise<Socket[]> {
  const { port } = server.address() as { port: number };
  const before = sockets.length;
  const opened = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress: from }));
  clients.push(...opened);
  for (const client of opened) client.on('error', () => undefined).write(text);
  const came = () => sockets.slice(before).filter(({ bytesRead }) => bytesRead === text.length);
  return await waitFor('all of it', () => came().length === count && came());
}

const cut = (opened: Socket[]) => opened.map(({ destroyed }) => destroyed);

it('are cut where they are too many, the oldest of those networks that have the most', async () => {
  const [old, young] = [await open(10, '127.0.0.1', head), await open(15, '127.0.0.1', head)];
  const other = await open(3, '127.0.0.2', head);
  heads.look();
  expect(cut([...old, ...young])).toEqual([...Array(8).fill(true), ...Array(17).fill(false)]);
  expect(cut(other)).toEqual([false, false, false]);
  heads.look();
  expect(cut([...old, ...young]).filter((isCut) => isCut)).toHaveLength(8);
});

it('are neither requests that are under way nor connections that wait for their next', async () => {
  const underWay = await open(10, '127.0.0.1', `${head}\r\n`);
  const idle = await open(10, '127.0.0.1', `${head}\r\n`);
  await waitFor('the requests', () => responses.length === 20);
  const closed = responses.slice(10).map((response) => once(response, 'close'));
  for (const response of responses.slice(10)) response.end();
  await Promise.all(closed);
  const unfinished = await open(21, '127.0.0.2', head);
  heads.look();
  expect(cut([...underWay, ...idle])).not.toContain(true);
  expect(cut(unfinished).filter((isCut) => isCut)).toHaveLength(1);
});
