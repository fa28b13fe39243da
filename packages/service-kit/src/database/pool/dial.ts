import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as encrypt } from 'node:tls';
import { NotConnected } from '../database-errors.ts';
import type { DriverOptions } from './connection.ts';

/** PostgreSQL's SSLRequest, and the first byte of a response. It grants TLS, or reports an error such as too many processes. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const [consent, refusal] = ['S', 'E'];
/** Certificates are verified except with these modes, as in libpq. */
const unverified: readonly unknown[] = ['require', 'allow', 'prefer'];

/**
 * Connects to the host at `index`, with TLS if `sslmode` asks for it. With `prefer` it uses plain text if the server has no TLS. Throws the socket's
 * error, or NotConnected if the server is silent for `handshakeMs`. The driver's own connect attaches its error listener too late.
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
  socket.setTimeout(handshakeMs, () => end('CONNECT_TIMEOUT', `completed no handshake within ${handshakeMs} ms`));
  socket.once('close', () => end('CONNECTION_CLOSED', 'closed the connection'));
  // A socket error without a listener would end the process.
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
    throw new Error(`PostgreSQL at ${host} has no TLS, but sslmode asks for it`);
  } catch (error) {
    socket.destroy();
    throw (error as Error).name === 'AbortError' ? signal.reason : error;
  }
}
