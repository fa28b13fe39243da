import { connect, type Socket } from 'node:net';
import { operationsOf } from '@customer-platform/contracts/core';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createLogger } from '../../telemetry/logging.ts';
import { createApp, listen } from '../listener.ts';
import { endWithEnvelopes } from '../responses.ts';
import { bodyReader, releaseBody } from './request-body.ts';

const mebibyte = 1_048_576;
const upload = operationsOf('agents', null)('upload', {
  method: 'POST',
  path: '/v1/agents/upload',
  scope: null,
  summary: 'Takes a file',
  bodyType: 'multipart',
  bodyLimit: 8 * mebibyte,
  body: z.object({ file: z.file() }),
  status: 201,
  response: z.object({}),
  errors: [],
});
let server: Awaited<ReturnType<typeof listen>>;
const sockets: Socket[] = [];

beforeAll(async () => {
  const app = createApp();
  const read = bodyReader(upload, (request) => request.header('owner')!, { bytes: 1_024, everyMs: 2_000 });
  app.post('/upload', read, (request, response) => {
    releaseBody(request);
    response.status(201).json({});
  });
  endWithEnvelopes(app, createLogger('test', 'silent'));
  server = await listen(app, 0, '127.0.0.1');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server?.close(0);
});

const head = '--q\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';

/** Begins an upload of 4 MiB, of which `bytes` come, and then a byte every 50 ms; resolves with the status of the response. */
function beginSlowUpload(owner: string, bytes: number): Promise<string> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  sockets.push(socket);
  const lines = ['POST /upload HTTP/1.1', 'Host: x', `Owner: ${owner}`, `Content-Length: ${4 * mebibyte}`];
  socket.write(`${[...lines, 'Content-Type: multipart/form-data; boundary=q', '', ''].join('\r\n')}${head}`);
  socket.write(Buffer.alloc(bytes));
  const drip = setInterval(() => socket.write('x'), 50);
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.on('close', () => clearInterval(drip));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(String(data).split(' ')[1]!);
    });
  });
}

async function uploadWhole(owner: string): Promise<number> {
  const body = `${head}${'x'.repeat(2 * mebibyte)}\r\n--q--\r\n`;
  const headers = { owner, 'content-type': 'multipart/form-data; boundary=q' };
  const response = await fetch(`${server.url}/upload`, { method: 'POST', headers, body });
  return response.status;
}

it('gives up uploads that drip, so that nobody waits for them', async () => {
  const slow = ['a', 'a', 'b', 'b'].map((owner) => beginSlowUpload(owner, 1.5 * mebibyte));
  const whole = uploadWhole('c');
  expect(await Promise.all(slow)).toEqual(['408', '408', '408', '408']);
  expect(await whole).toBe(201);
  expect(await uploadWhole('a')).toBe(201);
});
