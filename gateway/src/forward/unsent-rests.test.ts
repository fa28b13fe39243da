import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { waitFor } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { UnsentRests } from './unsent-rests.ts';

const mebibyte = 1_048_576;

it('what clients have not taken of responses is bounded by owner: a slow reader too many is cut off', async () => {
  const rests = new UnsentRests(64 * mebibyte);
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => void responses.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets: Socket[] = [];
  /** Responds with more than the system's own buffers take, or with little, to a client that reads nothing. */
  const respond = async (owner: string, bytes = 24 * mebibyte) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    socket.pause();
    sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const count = responses.length;
    await waitFor('the request', () => responses.length > count);
    const response = responses.at(-1)!;
    response.end('x'.repeat(bytes));
    rests.hold(response, owner);
    return response;
  };
  try {
    const first = await respond('one');
    expect((await respond('one')).destroyed).toBe(true);
    expect((await respond('one', 100)).destroyed).toBe(false);
    expect([(await respond('other')).destroyed, first.destroyed]).toEqual([false, false]);
    sockets[0]!.resume();
    await waitFor('it to be read', () => first.closed);
    expect((await respond('one')).destroyed).toBe(false);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});
