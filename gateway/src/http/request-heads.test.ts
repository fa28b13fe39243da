import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { ClientGone, createLogger } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SlowClient } from '../../test/slow-client.ts';
import { listenWithEnvelopes, type RequestHandler } from './listener.ts';
import { type RequestHead, RequestHeads } from './request-heads.ts';

const whole = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const part = `GET / HTTP/1.1\r\nHost: x\r\n${'a: 1\r\n'.repeat(40)}`;
const bodiless = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n';
let heads: RequestHeads;
let server: Server;
let requests: IncomingMessage[];
let responses: ServerResponse[];
let headsTaken: RequestHead[];
let sockets: Socket[];
let clients: Socket[];
let close: () => Promise<void>;

beforeEach(async () => {
  [requests, responses, headsTaken, sockets, clients] = [[], [], [], [], []];
  // Looked at by the tests alone.
  heads = new RequestHeads({ mostUnowned: 20, ownedBytes: 51_000, everyMs: 3_600_000 });
  const take: RequestHandler = (request, response, _continues, head) => {
    requests.push(request);
    responses.push(response);
    headsTaken.push(head);
  };
  const options = { port: 0, host: '127.0.0.1', log: createLogger('gateway', 'error'), heads };
  const listener = await listenWithEnvelopes(take, options);
  server = listener.server;
  close = () => listener.close(0);
  server.on('connection', (socket) => sockets.push(socket));
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await close();
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

it('count with a request that nobody owns and that lasts: one that waits, or was refused and whose body does not come', async () => {
  const refused = await open(15, '127.0.0.1', bodiless);
  await waitFor('the requests', () => requests.length === 15);
  const closed = responses.map((response) => once(response, 'close'));
  for (const request of requests) request.resume();
  for (const response of responses) response.writeHead(401).end('{}');
  await Promise.all(closed);
  const waiting = await open(10, '127.0.0.2', whole);
  await waitFor('the others', () => requests.length === 25);
  heads.look();
  expect(cutOf(sockets)).toEqual([]);
  heads.look();
  expect([cutOf(refused), cutOf(waiting)]).toEqual([refused.slice(0, 5), []]);
});

it('do not count with a request that is owned, or that has ended with its body, but with another that waits behind one', async () => {
  const [owned, ended, behind] = [
    await open(21, '127.0.0.1', whole),
    await open(21, '127.0.0.1', bodiless),
    await open(21, '127.0.0.2', whole + whole),
  ];
  await waitFor('the requests', () => requests.length === 63);
  for (const head of headsTaken) {
    const { request } = head;
    if (ended.includes(request.socket)) request.resume();
    else heads.own(head, request.socket.remotePort!.toString());
  }
  const closed = ended.map(async (socket) => {
    const response = responses.find((each) => each.socket === socket)!;
    await once(response.end(), 'close');
  });
  await Promise.all(closed);
  heads.look();
  for (const client of clients.slice(21, 42)) client.write('the body.');
  await waitFor('the bodies', () => requests.filter(({ complete }) => complete).length === 63);
  heads.look();
  expect([cutOf(owned), cutOf(ended)]).toEqual([[], []]);
  expect(cutOf(behind)).toEqual(behind.slice(0, 1));
});

it('of an account have half of the memory that is free for them, until its requests have ended', async () => {
  // Each is a little more than a third of the memory.
  await open(4, '127.0.0.1', bodiless.replace('Host', `A: ${'a'.repeat(15_900)}\r\nHost`));
  await waitFor('the requests', () => requests.length === 4);
  const [first, second, third, gone] = headsTaken as [RequestHead, RequestHead, RequestHead, RequestHead];
  heads.own(first, 'a');
  expect(() => heads.own(second, 'a')).toThrow(expect.objectContaining({ status: 429 }));
  heads.own(third, 'b');
  expect(() => heads.own(second, 'c')).toThrow(expect.objectContaining({ status: 503 }));
  clients[3]!.destroy();
  await once(responses[3]!, 'close');
  expect(() => heads.own(gone, 'd')).toThrow(ClientGone);
  await once(responses[0]!.end(), 'close');
  expect(() => heads.own(second, 'a')).toThrow(expect.objectContaining({ status: 429 }));
  const read = once(first.request.resume(), 'close');
  clients[0]!.write('the body.');
  await read;
  heads.own(second, 'a');
  // Nor may what is left of a body that never comes.
  await once(responses[1]!.end(), 'close');
  expect(() => heads.own(second, 'a')).toThrow(expect.objectContaining({ status: 429 }));
  clients[1]!.destroy();
  await waitFor('the end', () => second.isOver);
});

it('of calls of an account and of its hooks have an owner, whose body may come as late as it may', async () => {
  const platform = await startPlatform({ services: ['messaging'], env: { BODY_WINDOW_SECONDS: '600' } });
  const { gatewayUrl } = platform;
  const begun: SlowClient[] = [];
  try {
    const { client, key } = await platform.account();
    const settings = { url: 'http://127.0.0.1:9', secret: `whsec_${Buffer.alloc(32).toString('base64')}` };
    const channel = await client.putChannel({ params: { channel: 'sms' }, body: { provider: 'http', settings } });
    const hook = new URL(channel.hook_url).pathname;
    const owned = [SlowClient.post(gatewayUrl, '/v1/messages', 9, key), SlowClient.post(gatewayUrl, hook, 9)];
    begun.push(...owned);
    await waitFor('their turn', () => owned.every(({ isContinued }) => isContinued));
    const unowned = Array.from({ length: 1_100 }, () => new SlowClient(gatewayUrl, bodiless));
    begun.push(...unowned);
    await waitFor('those that are too many', () => unowned.filter(({ isClosed }) => isClosed).length >= 76);
    expect(owned.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  } finally {
    for (const each of begun) each.end();
    await platform.stop();
  }
}, 60_000);
