import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { takeBytes } from './allowance.ts';

/**
 * Bytes that a parser gets of a socket at once, at most. The one of undici goes on to the end of what it was given after a head has broken its
 * limit, and makes an error with its stack for each line there: a head of short lines takes 10 ms by 2 KiB, and less than 3 by these. A body of a
 * megabyte takes as long as before.
 */
const maxReadBytes = 256;

/**
 * Has a socket give out what it received in small parts, no more of it than `allowBytes` allows, and nothing more once it was destroyed for what
 * came. Returns it.
 */
export function withSmallReads<Receiving extends Socket>(socket: Receiving): Receiving {
  const read = socket.read.bind(socket);
  const isCountedBelow = socket instanceof TLSSocket;
  socket.read = (size?: number): unknown => {
    const { errored, readableLength } = socket;
    // What came before a reset is still a response.
    if (errored !== null && (errored as NodeJS.ErrnoException).code !== 'ECONNRESET') return null;
    const bytes: unknown = read(size ?? (readableLength > maxReadBytes ? maxReadBytes : undefined));
    if (!Buffer.isBuffer(bytes) || isCountedBelow) return bytes;
    return takeBytes(socket, bytes.length) ? bytes : null;
  };
  return socket;
}
