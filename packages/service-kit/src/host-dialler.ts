import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { type Backoff, backoffMs } from './backoff.ts';
import type { HeardSockets } from './heard-sockets.ts';
import { dropUnsentBytes } from './start-up-message.ts';

/** Times that a pool dials all of its hosts for all of its connections in vain, before it pauses: a server that ends them is there again at once. */
const dialledAtOnce = 3;
/** Pauses after that. */
const pauses: Backoff = { firstMs: 50, longestMs: 500 };

/** Dials the hosts of one pool in turn. */
export class HostDialler {
  readonly #sockets: HeardSockets;
  #nextHost = 0;
  #dialsInVain = 0;

  /** @param sockets gets each socket */
  constructor(sockets: HeardSockets) {
    this.#sockets = sockets;
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

  #dial({ host, port, path }: postgres.ParsedOptions): Socket {
    const socket: Socket & { host?: string } = new Socket();
    this.#sockets.add(socket);
    dropUnsentBytes(socket);
    const index = this.#nextHost++ % host.length;
    if (path) return socket.connect(path);
    // The driver asks a certificate for this name.
    socket.host = host[index]!;
    return socket.connect(port[index]!, host[index]!);
  }
}
