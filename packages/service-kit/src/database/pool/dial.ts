import { isIP, Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Handshake, NotConnected } from '../../values/handshake.ts';
import type { DriverOptions } from './connection.ts';

/** Time for a connection and its handshake. */
const handshakeMs = 5_000;
/** PostgreSQL's request for TLS, and the first byte of its responses: consent, or an error where it has no more processes. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const [consent, refusal] = ['S', 'E'];

/**
 * Connects to the host with an index, encrypted where `sslmode` asks for it; with `prefer` in plain text where the server has no TLS. Throws
 * the socket's error, or NotConnected after 5 s. The driver's own dial is not used: it listens to a socket too late to hear of a failure.
 */
export async function dial({ host: hosts, port, path, ssl: mode }: DriverOptions, index: number): Promise<Socket> {
  const host = hosts[index]!;
  const socket = new Socket();
  const handshake = new Handshake(socket, host, handshakeMs);
  return await handshake.run(async () => {
    const connected = handshake.connected();
    if (path) socket.connect(path);
    else socket.connect(port[index]!, host);
    await connected;
    if (!mode) return socket;
    socket.write(sslRequest);
    const response = (await handshake.bytes()).toString('latin1');
    if (response.startsWith(refusal)) throw new NotConnected('CONNECTION_CLOSED', `${host} refused the connection`);
    if (response === consent)
      return await handshake.encrypted({ ...(isIP(host) ? {} : { servername: host }), ...verification(mode) });
    if (mode === 'prefer') return socket;
    throw new Error(`PostgreSQL at ${host} has no TLS, which sslmode asks for`);
  });
}

const unverified: readonly unknown[] = ['require', 'allow', 'prefer'];

/** Certificates are verified except with `require` and weaker modes, as in libpq. */
function verification(mode: DriverOptions['ssl']): ConnectionOptions {
  return typeof mode === 'object' ? mode : { rejectUnauthorized: !unverified.includes(mode) };
}
