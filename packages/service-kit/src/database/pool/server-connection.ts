import { isIP, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import type postgres from 'postgres';
import { Handshake, NotConnected } from '../../values/handshake.ts';

/** The `sslmode` of a URL, as the driver reads it; false without one. */
export type TlsMode = postgres.ParsedOptions['ssl'];

/** A server of PostgreSQL, by its port and name or the path of its socket, and how connections to it are encrypted. */
export interface Server {
  path: string | false | undefined;
  host: string;
  port: number;
  tls: TlsMode;
}

/** Time for a connection and its handshake. */
const handshakeMs = 5_000;
/** PostgreSQL's request for TLS, and its consent; an error is what it sends where it has no more processes. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const [consent, refusal] = ['S', 'E'];

/**
 * Returns a connection to a server, encrypted where that is asked for; with `prefer` a plain one where the server has no TLS. Our own instead of the driver's, which
 * listens to a socket too late to hear of a dial that fails at once, whose request for TLS waits for minutes behind what it had not sent on the connection before, and
 * which takes all listeners off the socket. Never rejects, since the driver would lose the connection for good: what fails is the error of the socket that is returned.
 *
 * @param dialled gets the socket that is dialled, at once
 */
export async function connectTo(server: Server, dialled: (socket: Socket) => void): Promise<Socket> {
  const { path, host, port, tls } = server;
  const socket = new Socket();
  dialled(socket);
  const handshake = new Handshake(socket, host, handshakeMs);
  try {
    return await handshake.run(async () => {
      const connected = handshake.connected();
      if (path) socket.connect(path);
      else socket.connect(port, host);
      await connected;
      return tls ? await encrypted(socket, { host, tls }, handshake) : socket;
    });
  } catch (error) {
    return new FailedSocket(error) as unknown as Socket;
  }
}

async function encrypted(
  socket: Socket,
  { host, tls }: Pick<Server, 'host' | 'tls'>,
  handshake: Handshake,
): Promise<Socket> {
  socket.write(sslRequest);
  const response = (await handshake.bytes()).toString('latin1');
  if (response.startsWith(refusal)) throw new NotConnected('CONNECTION_CLOSED', `${host} refused the connection`);
  if (response === consent)
    return await handshake.encrypted({ ...(isIP(host) ? {} : { servername: host }), ...verification(tls) });
  if (tls === 'prefer') return socket;
  throw new Error(`PostgreSQL at ${host} has no TLS, which sslmode asks for`);
}

const unverified: readonly unknown[] = ['require', 'allow', 'prefer'];

/** Certificates are checked but with `require` and weaker modes, as in libpq. */
function verification(mode: TlsMode): ConnectionOptions {
  return typeof mode === 'object' ? mode : { rejectUnauthorized: !unverified.includes(mode) };
}

/** In place of a socket: fails once somebody listens to it, and has written what it writes first (see `watchFirstWrite`). */
export class FailedSocket extends Duplex {
  constructor(error: unknown) {
    super({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    setImmediate(() => setImmediate(() => this.destroy(error as Error)));
  }
}
