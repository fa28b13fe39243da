import type { Socket } from 'node:net';

/**
 * Bytes that a parser gets of a socket at once, at most. The one of undici goes on to the end of what it was given after a head has broken its
 * limit, and makes an error with its stack for each line there: of 64 KiB that takes a tenth of a second, in which nobody else is served.
 */
const maxReadBytes = 2_048;

/** Bytes that sockets may still give out until `allowBytes` is called again. */
const allowances = new WeakMap<Socket, { left: number }>();

/** Has a socket give out what it received in small parts, and nothing more once it was destroyed for what came. Returns it. */
export function withSmallReads<Receiving extends Socket>(socket: Receiving): Receiving {
  const read = socket.read.bind(socket);
  const allowance = { left: Number.POSITIVE_INFINITY };
  allowances.set(socket, allowance);
  socket.read = (size?: number): unknown => {
    const { errored, readableLength } = socket;
    // What came before a reset is still a response.
    if (errored !== null && (errored as NodeJS.ErrnoException).code !== 'ECONNRESET') return null;
    const bytes: unknown = read(size ?? (readableLength > maxReadBytes ? maxReadBytes : undefined));
    if (!Buffer.isBuffer(bytes)) return bytes;
    allowance.left -= bytes.length;
    if (allowance.left >= 0) return bytes;
    socket.destroy(new Error('more came than a response may have, with its head and its framing'));
    return null;
  };
  return socket;
}

/**
 * Allows a socket of `withSmallReads` this many bytes from now on: what frames a response's body (the extensions of chunks, their sizes, what
 * follows the last) is never given out, and without an end.
 */
export function allowBytes(socket: Socket, bytes: number): void {
  const allowance = allowances.get(socket);
  if (allowance) allowance.left = bytes;
}
