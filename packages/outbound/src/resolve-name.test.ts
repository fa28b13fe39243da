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

/** Starts a name server that has nothing: it says so with this response code, or is silent where there is none. */
async function nameServer(code: number | undefined): Promise<string> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.on('message', (query, { port, address }) => {
    if (code === undefined) return;
    const reply = Buffer.from(query);
    reply.writeUInt16BE(0x8180 | code, 2);
    socket.send(reply, port, address);
  });
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
  return `127.0.0.1:${(socket.address() as AddressInfo).port}`;
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

it('leaves the look-ups of the process alone, however many names have a server that is silent or has nothing', async () => {
  const [silent, empty] = [await nameServer(undefined), await nameServer(0)];
  const file = hostsFile('');
  const resolvers = [silent, empty].map((server) => createNameResolver(1_000, { servers: [server], hostsFile: file }));
  const looking = resolvers.flatMap((resolve) =>
    Array.from({ length: 20 }, (_, index) =>
      resolve(`name-${index}.test`).catch((error: { code: string }) => error.code),
    ),
  );
  // The system's look-up would wait for a thread that one of those names has.
  expect((await lookup('localhost')).address).toBeDefined();
  expect(new Set(await Promise.all(looking))).toEqual(new Set(['ETIMEOUT', 'ENODATA']));
});
