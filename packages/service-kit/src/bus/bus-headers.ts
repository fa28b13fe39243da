import type { Msg, MsgHdrs } from '@nats-io/transport-node';

/**
 * Most bytes of headers that are read: ours have a few names. The client takes the square of their number to read them, which is 17 s for 240 KB and
 * 10 ms for this.
 */
const maxHeaderBytes = 4_096;

/** Returns a message's headers, undefined where it has none. Throws where they are larger than 4 KiB, or cannot be read: the client reads them only now. */
export function readHeaders(message: Msg): MsgHdrs | undefined {
  const { subject, reply = '', data } = message;
  const bytes = sizeOf(message) - subject.length - reply.length - data.length;
  if (bytes > maxHeaderBytes) throw new Error(`the headers of a message are larger than ${maxHeaderBytes} bytes`);
  return message.headers;
}

/** Returns the bytes of all parts of a message, without reading them: the client's type leaves it out. */
export function sizeOf(message: Msg): number {
  return (message as Msg & { size(): number }).size();
}
