import type { Socket } from 'node:net';

/** Responds to a request with a row of informational responses without an end. */
export function respondWithHints(socket: Socket): void {
  respondEndlessly(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n');
}

/** Responds to a request with the beginning of a chunk whose extension has no end. */
export function respondWithChunkWithoutEnd(socket: Socket): void {
  respondEndlessly(socket, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'x'.repeat(500));
}

function respondEndlessly(socket: Socket, head: string, repeated: string): void {
  const part = Buffer.from(repeated.repeat(100));
  const send = () => {
    while (!socket.destroyed && socket.write(part));
  };
  socket.on('error', () => undefined).on('drain', send);
  socket.once('data', () => {
    socket.write(head);
    send();
  });
}
