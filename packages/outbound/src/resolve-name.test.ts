import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { createNameResolver } from './resolve-name.ts';

const sockets: Socket[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Starts a name server; `respond` sends its replies. */
async function startNameServer(respond: (query: Buffer, reply: (message: Buffer) => void) => void): Promise<string> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.on('message', (query, { port, address }) =>
    // A reply after the end of a test has no socket to use.
    respond(query, (message) => sockets.includes(socket) && socket.send(message, port, address)),
  );
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
  return `127.0.0.1:${(socket.address() as AddressInfo).port}`;
}

/** Starts a name server without records: it replies with this response code, or is silent if the code is undefined. */
function nameServer(code: number | undefined): Promise<string> {
  return startNameServer((query, reply) => {
    if (code === undefined) return;
    const message = Buffer.from(query);
    message.writeUInt16BE(0x8180 | code, 2);
    reply(message);
  });
}

/** Returns the name that a query asks for, and whether it asks for IPv6. */
function questionOf(query: Buffer): { name: string; isIpv6: boolean; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (; query[at] !== 0; at += query[at]! + 1) labels.push(query.subarray(at + 1, at + 1 + query[at]!).toString());
  return { name: labels.join('.').toLowerCase(), isIpv6: query.readUInt16BE(at + 1) === 28, end: at + 5 };
}

/** Returns the reply that a name has the address 192.0.2.1, or no address. */
function replyTo(query: Buffer, hasAddress: boolean): Buffer {
  const head = Buffer.from(query.subarray(0, questionOf(query).end));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(hasAddress ? 1 : 0, 6);
  // Leave out the EDNS options, which the query may have.
  head.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1]);
  return hasAddress ? Buffer.concat([head, record]) : head;
}

function hostsFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
  folders.push(folder);
  writeFileSync(join(folder, 'hosts'), text);
  return join(folder, 'hosts');
}

it('finds what DNS does not have in the hosts file', async () => {
  const file = hostsFile(
    '# 10.0.0.9 hooks.test\n10.0.0.1\thooks.test  other.test # 10.0.0.8 hooks.test\nfd00::1 Hooks.Test\nnone hooks.test\n',
  );
  const resolve = createNameResolver(2_000, { servers: [await nameServer(3)], hostsFile: file });
  expect(await resolve('HOOKS.test.')).toEqual(['10.0.0.1', 'fd00::1']);
  await expect(resolve('unknown.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

it('does not block other look-ups of the process, however many names have a silent or empty server', async () => {
  const [silent, empty] = [await nameServer(undefined), await nameServer(0)];
  const file = hostsFile('');
  const resolvers = [silent, empty].map((server) => createNameResolver(1_000, { servers: [server], hostsFile: file }));
  const looking = resolvers.flatMap((resolve) =>
    Array.from({ length: 20 }, (_, index) =>
      resolve(`name-${index}.test`).catch((error: { code: string }) => error.code),
    ),
  );
  // The system's look-up would wait for a thread that is blocked by one of these names.
  expect((await lookup('localhost')).address).toBeDefined();
  expect(new Set(await Promise.all(looking))).toEqual(new Set(['ETIMEOUT', 'ENODATA']));
});

it('waits for a slow name for its whole time, however fast the names of others are', async () => {
  const slowMs = 1_500;
  const server = await startNameServer((query, reply) => {
    const { name, isIpv6 } = questionOf(query);
    setTimeout(() => reply(replyTo(query, !isIpv6)), name.startsWith('slow') ? slowMs : 0);
  });
  const resolve = createNameResolver(20_000, { servers: [server], hostsFile: hostsFile('') });
  for (let index = 0; index < 50; index++) expect(await resolve(`fast-${index}.test`)).toEqual(['192.0.2.1']);
  const slow = ['slow-1.test', 'slow-2.test', 'slow-3.test'].map((name) => resolve(name));
  expect(await Promise.all(slow)).toEqual([['192.0.2.1'], ['192.0.2.1'], ['192.0.2.1']]);
});

it('waits less for IPv6 addresses that never arrive than for a server that takes seconds', async () => {
  const laterMs = 5_000;
  const server = await startNameServer((query, reply) => {
    const { name, isIpv6 } = questionOf(query);
    if (name === 'half.test' && isIpv6) return;
    setTimeout(() => reply(replyTo(query, !isIpv6)), name === 'half.test' ? 0 : laterMs);
  });
  const resolve = createNameResolver(600_000, { servers: [server], hostsFile: hostsFile('') });
  const done: string[] = [];
  const looking = ['later.test', 'half.test'].map(async (name) => {
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    done.push(name);
  });
  await Promise.all(looking);
  expect(done).toEqual(['half.test', 'later.test']);
});
