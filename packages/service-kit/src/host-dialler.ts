import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { type Backoff, backoffMs } from './backoff.ts';
import { watchBeginning } from './beginning-connections.ts';
import type { HeardSockets } from './heard-sockets.ts';
import { dropUnsentBytes } from './start-up-message.ts';
import { encrypted, type TlsMode } from './tls-connection.ts';

/** Times that a pool dials all of its hosts for all of its connections in vain, before it pauses: a server that ends them is there again at once. */
const dialledAtOnce = 3;
/** Pauses after that. */
const pauses: Backoff = { firstMs: 50, longestMs: 500 };

/** Dials the hosts of one pool in turn. */
export class HostDialler {
  readonly #sockets: HeardSockets;
  readonly #tls: TlsMode;
  #nextHost = 0;
  #dialsInVain = 0;

  /**
   * @param sockets gets each socket
   * @param tls how connections are encrypted
   */
  constructor(sockets: HeardSockets, tls: TlsMode) {
    this.#sockets = sockets;
    this.#tls = tls;
  }

  /**
   * Dials the next host. postgres.js pauses where its only host refuses a connection, but not before it goes to the next of several, none of which may be a
   * primary, nor where a host takes connections and closes them.
   */
  readonly dial = (options: postgres.ParsedOptions): Socket | Promise<Socket> => {
    const rounds = Math.floor(this.#dialsInVain++ / (options.max * options.host.length));
    if (rounds < dialledAtOnce) return this.#dial(options);
    return sleep(backoffMs(pauses, rounds - dialledAtOnce + 1)).then(() => this.#dial(options));
  };

  /** Says that a statement had a response: what is dialled from now on is dialled at once. */
  succeeded(): void {
    this.#dialsInVain = 0;
  }

  #dial(options: postgres.ParsedOptions): Socket | Promise<Socket> {
    const { host, port, path } = options;
    const socket = new Socket();
    this.#sockets.add(socket);
    const index = this.#nextHost++ % host.length;
    if (path) return begun(socket.connect(path), options);
    const name = host[index]!;
    socket.connect(port[index]!, name);
    return this.#tls ? this.#encrypted(socket, name, options) : begun(socket, options);
  }

  async #encrypted(socket: Socket, host: string, options: postgres.ParsedOptions): Promise<Socket> {
    const secure = await encrypted(socket, host, this.#tls);
    if (secure !== socket) this.#sockets.replace(socket, secure);
    return begun(secure, options);
  }
}

/** Returns a socket, on which the driver begins with its start-up message. */
function begun(socket: Socket, { target_session_attrs }: postgres.ParsedOptions): Socket {
  dropUnsentBytes(socket);
  if (target_session_attrs) watchBeginning(socket);
  return socket;
}
