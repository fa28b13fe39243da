import type { Socket } from 'node:net';

/**
 * Bytes that a parser gets of a socket at once, at most. The one of undici goes on to the end of what it was given after a head has broken its
 * limit, and makes an error with its stack for each line there: of 64 KiB that takes a tenth of a second, in which nobody else is served.
 */
const maxReadBytes = 2_048;

/** Has a socket give out what it received in small parts, and nothing more once it was destroyed for what came. Returns it. */
export function withSmallReads<Receiving extends Socket>(socket: Receiving): Receiving {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    const { errored, readableLength } = socket;
    // What came before a reset is still a response.
    if (errored !== null && (errored as NodeJS.ErrnoException).code !== 'ECONNRESET') return null;
    return read(size ?? (readableLength > maxReadBytes ? maxReadBytes : undefined));
  };
  return socket;
}
