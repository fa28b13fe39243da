import type { Socket } from 'node:net';

/** Responds to a request with a row of informational responses without an end. */
export function respondWithHints(socket: Socket): void {
  const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100));
  const send = () => {
    while (!socket.destroyed && socket.write(hints));
  };
  socket.on('error', () => undefined).on('drain', send);
  socket.once('data', send);
}
