import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createLogger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { forwarder } from './forward.ts';

/** Listens without accepting connections. Once its backlog is full, connection attempts get no reply. */
const stillServer = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
const minutesMs = 600_000;
let child: ChildProcess;
let url: string;
const waiting: Socket[] = [];

beforeAll(async () => {
  child = spawn(process.execPath, ['-e', stillServer], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout!, 'data')) as [Buffer];
  url = `http://127.0.0.1:${port}`;
  for (let count = 0; count < 8; count++) {
    waiting.push(connect(Number(port), '127.0.0.1').on('error', () => undefined));
  }
  await waitFor('the backlog to be full', () => waiting.filter(({ pending }) => !pending).length >= 2);
});
afterAll(() => {
  for (const socket of waiting) socket.destroy();
  child.kill('SIGKILL');
});

it('a request for an unreachable service is 503 after the connect timeout, however long a response may take', async () => {
  const bounds = { timeoutMs: minutesMs, connectMs: 200, holdMs: 0 };
  const upstream = forwarder(url, 'crm', createLogger('gateway', 'silent'), bounds);
  const server = createServer((request, response) => upstream.forward(request, response, 'owner'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/crm/deals`);
    expect(response.status).toBe(503);
    await expect(upstream.probe('/hooks/messages/any', 'id', minutesMs)).rejects.toThrow('no connection within 200 ms');
  } finally {
    upstream.close();
    server.closeAllConnections();
    server.close();
  }
}, 20_000);
