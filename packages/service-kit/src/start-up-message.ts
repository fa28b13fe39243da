import type { Socket } from 'node:net';

/** Version 3.0 of PostgreSQL's protocol, as a start-up message has it. */
const protocolVersion = 0x0003_0000;

/**
 * Has a connection begin with its start-up message. The driver keeps what it had not sent when the connection before was closed in the same
 * turn of the event loop, and sends it first; see `padding`.
 */
export function dropUnsentBytes(socket: Socket): void {
  const { write } = socket;
  socket.write = ((chunk: Uint8Array | string, ...rest: []) => {
    socket.write = write;
    return write.call(socket, typeof chunk === 'string' ? chunk : startupIn(chunk), ...rest);
  }) as typeof write;
}

/** Returns the start-up message at the end of the first bytes of a connection; all of them where there is none, such as with TLS. */
function startupIn(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let start = 0; start + 8 <= bytes.length; start++) {
    if (view.getUint32(start) === bytes.length - start && view.getUint32(start + 4) === protocolVersion) {
      return bytes.subarray(start);
    }
  }
  return bytes;
}

/**
 * Makes a start-up message longer than 1 KiB. The driver sends as much at once; less it leaves to a callback that it has cancelled for good
 * where a connection was closed in the turn in which a statement was written, and the slot then stands still for half a minute.
 */
export const padding = ' '.repeat(1_024);
