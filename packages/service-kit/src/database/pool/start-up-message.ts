import type { Socket } from 'node:net';

/** Version 3.0 of PostgreSQL's protocol, as a start-up message has it. */
const protocolVersion = 0x0003_0000;

/**
 * Watches what the driver writes first on a new connection. It keeps what it had not sent when the connection before was closed in the same turn of the event loop, and
 * sends it first: all but the start-up message is left out. It may also send nothing at all (see `padding`): `forgotten` is called then, in the next turn but one.
 */
export function watchFirstWrite(socket: Socket, forgotten: () => void): void {
  const { write } = socket;
  let isWritten = false;
  socket.write = ((chunk: Uint8Array | string, ...rest: []) => {
    isWritten = true;
    socket.write = write;
    return write.call(socket, typeof chunk === 'string' ? chunk : startupIn(chunk), ...rest);
  }) as typeof write;
  setImmediate(() =>
    setImmediate(() => {
      if (!isWritten) forgotten();
    }),
  );
}

/** Returns the start-up message at the end of the first bytes of a connection; all of them where there is none, such as in a request to cancel. */
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
 * Makes a start-up message longer than 1 KiB. The driver sends as much at once; less it leaves to a callback that it has cancelled for good where a connection was
 * closed in the turn in which a statement was written. Poolers take no such message: there the connection is closed and dialled again, until as much has gathered.
 */
export const padding = ' '.repeat(1_024);
