import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as encrypt } from 'node:tls';
import { NotConnected } from '../database-errors.ts';
import type { DriverOptions } from './connection.ts';

/** PostgreSQL's request for TLS, and the first byte of its responses: consent, or an error where it has no more processes. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const [consent, refusal] = ['S', 'E'];
/** Certificates are verified except with these modes, as in libpq. */
const unverified: readonly unknown[] = ['require', 'allow', 'prefer'];

/**
 * Connects to the host with an index, encrypted where `sslmode` asks for it; with `prefer` in plain text where the server has no TLS. Throws
 * the socket's error, or NotConnected where the server says nothing for `handshakeMs`. The driver's own dial is not used: it listens to a socket too late to hear of a failure.
 */
export async function dial(
  { host: hosts, port, path, ssl: mode }: Pick<DriverOptions, 'host' | 'port' | 'path' | 'ssl'>,
  index: number,
  handshakeMs = 5_000,
): Promise<Socket> {
  const host = hosts[index]!;
  const socket = path ? connect(path) : connect(port[index]!, host);
  const ended = new AbortController();
  const { signal } = ended;
  const end = (code: 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED', what: string) =>
    ended.abort(new NotConnected(code, `${host} ${what}`));
  socket.setTimeout(handshakeMs, () => end('CONNECT_TIMEOUT', `did not shake hands within ${handshakeMs} ms`));
  socket.once('close', () => end('CONNECTION_CLOSED', 'closed the connection'));
  // From its beginning on somebody listens: an error that nobody hears ends the process.
  socket.on('error', () => undefined);
  try {
    await once(socket, 'connect', { signal });
    if (!mode) return socket;
    socket.write(sslRequest);
    const [bytes] = (await once(socket, 'data', { signal })) as [Buffer];
    const response = bytes.toString('latin1');
    if (response.startsWith(refusal)) throw new NotConnected('CONNECTION_CLOSED', `${host} refused the connection`);
    if (response === consent) {
      const verification = typeof mode === 'object' ? mode : { rejectUnauthorized: !unverified.includes(mode) };
      const secure = encrypt({ socket, host, ...(isIP(host) ? {} : { servername: host }), ...verification });
      secure.on('error', () => undefined);
      await once(secure, 'secureConnect', { signal });
      return secure;
    }
    if (mode === 'prefer') return socket;
    throw new Error(`PostgreSQL at ${host} has no TLS, which sslmode asks for`);
  } catch (error) {
    socket.destroy();
    throw (error as Error).name === 'AbortError' ? signal.reason : error;
  }
}
