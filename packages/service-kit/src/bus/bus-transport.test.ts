import { Duplex } from 'node:stream';
import { beforeAll, expect, it } from '@jest/globals';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import { dialByOurselves } from './bus-transport.ts';

beforeAll(dialByOurselves);

/** Returns a connection whose server reads nothing more. */
function silentConnection() {
  const transport = new NodeTransport();
  const socket = new Duplex({ read: () => undefined, write: () => undefined });
  Object.assign(transport, { socket, options: {}, connected: true });
  transport.setupHandlers();
  return { transport, socket };
}

it('a connection that is given up ends, whatever was written on it and not taken', async () => {
  const { transport, socket } = silentConnection();
  transport.send(Buffer.from('PUB a 1\r\nx\r\n'));
  transport.disconnect();
  expect(await transport.closed()).toMatchObject({ message: 'NATS did not respond to pings' });
  expect(socket.destroyed).toBe(true);
});

it('a connection ends of which a frame could not be read', async () => {
  const { transport, socket } = silentConnection();
  socket.push('XYZ\r\n');
  const reading = async () => {
    for await (const frame of transport) throw new Error(`not understood: ${Buffer.from(frame)}`);
  };
  await expect(reading()).rejects.toThrow('not understood');
  expect(await transport.closed()).toMatchObject({ message: 'what NATS sent could not be read' });
  expect(socket.destroyed).toBe(true);
});
