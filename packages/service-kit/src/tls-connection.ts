import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';
import type postgres from 'postgres';

/** The `sslmode` of a URL, as the driver reads it; false without one. */
export type TlsMode = postgres.ParsedOptions['ssl'];

/** Time for a connection and its handshake. */
const handshakeMs = 5_000;
/** PostgreSQL's request for TLS, and its consent. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const consent = 'S';

class NotConnected extends Error {
  readonly code: string;

  constructor(code: 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED', message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Returns the encrypted connection of a socket that is being connected to `host`; the socket itself with `prefer`, where the server has no TLS. Our own instead of the
 * driver's, whose first message, eight bytes, waits behind what it had not sent when the connection before was closed, for minutes (see `padding`), and which takes all
 * listeners off the socket. Never rejects, since the driver would lose the connection for good: what fails is the error of the socket that is returned.
 */
export async function encrypted(socket: Socket, host: string, mode: TlsMode): Promise<Socket> {
  const closed = new AbortController();
  const tooLate = setTimeout(() => {
    closed.abort(new NotConnected('CONNECT_TIMEOUT', `${host} did not shake hands within ${handshakeMs} ms`));
  }, handshakeMs);
  socket.once('close', () => closed.abort(new NotConnected('CONNECTION_CLOSED', `${host} closed the connection`)));
  // An error between two waits is followed by the end, which is waited for.
  socket.on('error', () => undefined);
  const { signal } = closed;
  try {
    await once(socket, 'connect', { signal });
    socket.write(sslRequest);
    const [response] = (await once(socket, 'data', { signal })) as [Buffer];
    if (response.toString('latin1') !== consent) {
      if (mode === 'prefer') return socket;
      throw new Error(`PostgreSQL at ${host} has no TLS, which sslmode asks for`);
    }
    const secure = connect({ socket, host, ...(isIP(host) ? {} : { servername: host }), ...verification(mode) });
    secure.on('error', () => undefined);
    await once(secure, 'secureConnect', { signal });
    return secure;
  } catch (error) {
    socket.destroy();
    return failed(signal.reason ?? error);
  } finally {
    clearTimeout(tooLate);
  }
}

const unverified: readonly unknown[] = ['require', 'allow', 'prefer'];

/** Certificates are checked but with `require` and weaker modes, as in libpq. */
function verification(mode: TlsMode): ConnectionOptions {
  return typeof mode === 'object' ? mode : { rejectUnauthorized: !unverified.includes(mode) };
}

/** Returns a socket that fails once somebody listens to it. */
function failed(error: unknown): Socket {
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  setImmediate(() => stream.destroy(error as Error));
  return stream as Socket;
}
