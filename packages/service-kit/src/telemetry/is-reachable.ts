import { connect } from 'node:net';

/** Time in which a server takes a connection, or counts as unreachable. */
const connectMs = 1_000;

/** Returns whether something listens at a URL's host and port; false for a URL that is none. */
export async function isReachable(url: string): Promise<boolean> {
  if (!URL.canParse(url)) return false;
  const { hostname, port, protocol } = new URL(url);
  const socket = connect({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    timeout: connectMs,
  });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('connect', () => resolve(true));
  socket.once('timeout', () => resolve(false));
  socket.once('error', () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
