import { type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { ConnectError, type DialTarget, type GuardedConnector } from './guarded-connector.ts';
import { ConnectionClient, ResendingHandler } from './kept-connections.ts';

export type PoolBounds = {
  /** Sockets per pool; further requests wait in the pool's queue. */
  maxSocketsPerPool: number;
  /** Sockets in total: at this limit idle connections are closed, and dials wait for a socket to close. */
  maxSockets: number;
  /** Milliseconds that an idle socket is kept, unless the server sends its own timeout; default 4 s. */
  keepAliveMs?: number;
};

/**
 * Reused connections of one key to one origin. `inFlight` counts requests not yet settled, `dials` connections not yet made or waiting
 * for a socket, `open` those there are; `ended` is aborted when the pool is closed, `isAborted` is set if that aborted requests in flight.
 */
export type PoolEntry = {
  id: string;
  key: string;
  pool: Pool;
  /** The same pool; a request whose reused connection is lost before any byte of a response is sent once more, over a new one. */
  resending: Dispatcher;
  inFlight: number;
  dials: number;
  open: number;
  ended: AbortController;
  isAborted: boolean;
};

const maxPools = 5000;
/** Upper bound of the keep-alive timeout that a server asks for. */
const maxKeepAliveMs = 60_000;

/**
 * Keeps connections for reuse, separately for each key (an endpoint), so that an endpoint that hangs never holds a socket
 * that another one at the same host needs.
 */
export class ConnectionPools {
  readonly #connect: GuardedConnector;
  readonly #bounds: PoolBounds;
  // A Map keeps insertion order: an entry is inserted again when it is used, so the first is the least recently used.
  readonly #entries = new Map<string, PoolEntry>();
  /** Pools that take no more requests, until their last one has ended. */
  readonly #retired = new Set<PoolEntry>();
  readonly #waiting: (() => void)[] = [];
  #openSockets = 0;

  constructor(connect: GuardedConnector, bounds: PoolBounds) {
    this.#connect = connect;
    this.#bounds = bounds;
  }

  get openSockets(): number {
    return this.#openSockets;
  }

  /** Returns the pool of a key and an origin, created on first use; it counts as in use until `giveBack`. */
  take(key: string, origin: string): PoolEntry {
    const id = `${key} ${origin}`;
    const entry = this.#entries.get(id) ?? this.#makeEntry({ id, key }, origin);
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    entry.inFlight++;
    if (this.#entries.size > maxPools) this.#endFirst();
    return entry;
  }

  /** Gives back what a request was given. With its last request a pool ends that still dials, for nobody, or has no connection to keep. */
  giveBack(entry: PoolEntry): void {
    entry.inFlight--;
    if (entry.inFlight > 0) return;
    if (entry.dials > 0 || entry.open === 0 || this.#waiting.length > 0 || this.#retired.has(entry)) this.#end(entry);
  }

  /** Closes every connection and dial of a key; its requests fail, and later ones get new connections. */
  abort(key: string): void {
    for (const entry of this.#all().filter((one) => one.key === key)) {
      entry.isAborted = true;
      this.#end(entry);
    }
  }

  /** Closes every connection; requests in flight fail. */
  async close(): Promise<void> {
    const all = this.#all();
    for (const entry of all) this.#end(entry);
    await Promise.all(all.map((entry) => entry.pool.destroy()));
  }

  #all(): PoolEntry[] {
    return [...this.#entries.values(), ...this.#retired];
  }

  #makeEntry({ id, key }: { id: string; key: string }, origin: string): PoolEntry {
    const ended = new AbortController();
    const clientOptions: Client.Options = {
      connect: (target, callback) => {
        entry.dials++;
        this.#whenSocketIsFree(() => this.#dial(target, entry, callback));
      },
      allowH2: false,
      keepAliveTimeout: this.#bounds.keepAliveMs ?? 4_000,
      keepAliveMaxTimeout: maxKeepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    const pool = new Pool(origin, {
      ...clientOptions,
      connections: this.#bounds.maxSocketsPerPool,
      factory: (url, options) => new ConnectionClient(url, options),
    });
    const resending = pool.compose((dispatch) => (target, handler) => {
      const resend = () => {
        if (ended.signal.aborted) return false;
        sendOnce(new Client(origin, clientOptions), ended.signal, target, handler);
        return true;
      };
      return dispatch(target, new ResendingHandler(handler, resend));
    });
    const entry: PoolEntry = { id, key, pool, resending, inFlight: 0, dials: 0, open: 0, ended, isAborted: false };
    return entry;
  }

  #whenSocketIsFree(dialNow: () => void): void {
    if (this.#openSockets < this.#bounds.maxSockets) {
      this.#openSockets++;
      dialNow();
    } else {
      this.#waiting.push(dialNow);
      if (!this.#endFirst()) this.#retireFirst();
    }
  }

  #dial(target: DialTarget, entry: PoolEntry, callback: buildConnector.Callback): void {
    this.#connect({ ...target, signal: entry.ended.signal }, (...result) => {
      const socket = result[1];
      entry.dials--;
      if (!socket) this.#socketEnded();
      else {
        entry.open++;
        socket.once('close', () => {
          entry.open--;
          this.#socketEnded();
          // Once undici has heard of it too. The clients of a pool without a connection hold far more than a new pool costs.
          queueMicrotask(() => {
            if (entry.inFlight + entry.dials + entry.open === 0 && !entry.ended.signal.aborted) this.#end(entry);
          });
        });
      }
      callback(...result);
    });
  }

  #socketEnded(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#openSockets--;
  }

  /** Closes the least recently used idle pool, which has a connection; returns whether there is one. */
  #endFirst(): boolean {
    const first = this.#entries.values().find(({ inFlight }) => inFlight === 0);
    if (first) this.#end(first);
    return first !== undefined;
  }

  /**
   * Closes the idle connections of the least recently used pool that has some beside its requests, which go on: an endpoint that hangs with
   * one request would keep all others of its sockets from those who wait.
   */
  #retireFirst(): void {
    const first = this.#entries.values().find(({ open, inFlight }) => open > inFlight);
    if (!first) return;
    this.#entries.delete(first.id);
    this.#retired.add(first);
    void first.pool.close().catch(() => undefined);
  }

  #end(entry: PoolEntry): void {
    if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
    this.#retired.delete(entry);
    entry.ended.abort(new ConnectError('http', 'the connection is no longer wanted'));
    void entry.pool.destroy();
  }
}

/** Sends over a client's one connection, which is closed after the response, or with `ended`. */
function sendOnce(
  client: Client,
  ended: AbortSignal,
  target: Dispatcher.DispatchOptions,
  handler: Dispatcher.DispatchHandler,
): void {
  const endClient = () => void client.destroy();
  ended.addEventListener('abort', endClient);
  client.dispatch(target, handler);
  void client.close().finally(() => ended.removeEventListener('abort', endClient));
}
