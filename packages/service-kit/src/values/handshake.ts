import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

/** A connection that did not come to be, or ended before it was of use. */
export class NotConnected extends Error {
  readonly code: string;

  constructor(code: 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED', message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The first steps on a socket that is being connected, one after the other: each throws what the socket's error is, or NotConnected where it is closed or the time of all is
 * over. From its beginning on somebody listens to the socket: an error that nobody hears ends the process.
 */
export class Handshake {
  readonly #socket: Socket;
  readonly #closed = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #host: string;

  constructor(socket: Socket, host: string, withinMs: number) {
    this.#socket = socket;
    this.#host = host;
    const end = (code: 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED', what: string) =>
      this.#closed.abort(new NotConnected(code, `${host} ${what}`));
    this.#timer = setTimeout(() => end('CONNECT_TIMEOUT', `did not shake hands within ${withinMs} ms`), withinMs);
    socket.once('close', () => end('CONNECTION_CLOSED', 'closed the connection'));
    socket.on('error', () => undefined);
  }

  /** Does the steps; where one fails the socket is closed. */
  async run<Result>(steps: () => Promise<Result>): Promise<Result> {
    try {
      return await steps();
    } catch (error) {
      this.#socket.destroy();
      throw this.#closed.signal.reason ?? error;
    } finally {
      clearTimeout(this.#timer);
    }
  }

  async connected(): Promise<void> {
    await once(this.#socket, 'connect', { signal: this.#closed.signal });
  }

  /** Returns the bytes that come next. */
  async bytes(): Promise<Buffer> {
    const [bytes] = (await once(this.#socket, 'data', { signal: this.#closed.signal })) as [Buffer];
    return bytes;
  }

  /** Returns the socket encrypted; its server's certificate is asked for the host. */
  async encrypted(options: ConnectionOptions): Promise<TLSSocket> {
    const secure = connect({ socket: this.#socket, host: this.#host, ...options });
    secure.on('error', () => undefined);
    await once(secure, 'secureConnect', { signal: this.#closed.signal });
    return secure;
  }
}
