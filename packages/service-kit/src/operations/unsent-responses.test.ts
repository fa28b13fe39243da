import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { waitFor } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { UnsentResponses } from './unsent-responses.ts';

const mebibyte = 1_048_576;

it('holds no more of an owner than its share of responses that are not read, and lets others have theirs', async () => {
  const unsent = new UnsentResponses(64 * mebibyte);
  // More than the system's own buffers of a connection take.
  const body = 'x'.repeat(24 * mebibyte);
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => void responses.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets: Socket[] = [];
  const asked = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.pause();
    sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const count = responses.length;
    await waitFor('the request', () => responses.length > count);
    return responses.at(-1)!;
  };
  try {
    unsent.send(await asked(), 200, body, 'one');
    const second = await asked();
    expect(() => unsent.send(second, 200, body, 'one')).toThrow(expect.objectContaining({ code: 'rate_limited' }));
    unsent.send(second, 200, '{}', 'one');
    unsent.send(await asked(), 200, body, 'other');
    const third = await asked();
    expect(() => unsent.send(third, 200, body, 'third')).toThrow(
      expect.objectContaining({ code: 'service_unavailable' }),
    );
    // One that is read makes room, and so does one whose client has gone.
    const closed = once(responses[0]!, 'close');
    sockets[0]!.resume();
    await closed;
    unsent.send(third, 200, body, 'one');
    const gone = once(third, 'close');
    sockets[3]!.destroy();
    await gone;
    const fourth = await asked();
    const left = once(fourth, 'close');
    sockets[4]!.destroy();
    await left;
    unsent.send(fourth, 200, body, 'one');
    unsent.send(await asked(), 200, body, 'one');
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});
