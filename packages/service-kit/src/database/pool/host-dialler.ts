import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { type Backoff, backoffMs } from '../../values/backoff.ts';
import { watchBeginning } from './beginning-connections.ts';
import { tellOnlyOfTheEnd } from './driver-events.ts';
import type { HeardSockets } from './heard-sockets.ts';
import { connectTo, FailedSocket, type TlsMode } from './server-connection.ts';
import { watchFirstWrite } from './start-up-message.ts';

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
   * primary, nor where a host takes connections and closes them. Never rejects: see `connectTo`.
   */
  readonly dial = async (options: postgres.ParsedOptions): Promise<Socket> => {
    const rounds = Math.floor(this.#dialsInVain++ / (options.max * options.host.length));
    if (rounds >= dialledAtOnce) await sleep(backoffMs(pauses, rounds - dialledAtOnce + 1));
    const { host, port, path, target_session_attrs } = options;
    const index = this.#nextHost++ % host.length;
    const server = { path, host: host[index]!, port: port[index]!, tls: this.#tls };
    let dialled: Socket | undefined;
    const socket = await connectTo(server, (one) => {
      dialled = one;
      this.#sockets.add(one);
    });
    if (socket !== dialled) this.#sockets.replace(dialled!, socket);
    watchFirstWrite(socket, () => {
      this.#dialsInVain--;
      socket.destroy();
    });
    if (target_session_attrs) watchBeginning(socket);
    // One that could not be connected fails by its error.
    if (!(socket instanceof FailedSocket)) tellOnlyOfTheEnd(socket);
    return socket;
  };

  /** Says that a statement had a response: what is dialled from now on is dialled at once. */
  succeeded(): void {
    this.#dialsInVain = 0;
  }
}
