import { type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { ConnectError, type DialTarget, type GuardedConnector } from './guarded-connector.ts';
import { ConnectionClient, ResendingHandler } from './kept-connections.ts';

export type PoolBounds = {
  /** Sockets per pool. Further requests wait in the pool's queue. */
  maxSocketsPerPool: number;
  /** Sockets in total. At this limit idle connections are closed, and connection attempts wait for a socket to close. */
  maxSockets: number;
  /** Milliseconds that an idle socket is kept, unless the server sends its own timeout. Default: 4 s. */
  keepAliveMs?: number;
};

/**
 * Reused connections of one key to one origin. `inFlight` counts unsettled requests, `dials` connections being made or waiting for a socket, and
 * `open` open connections. `ended` aborts when the pool closes; `isAborted` means that `ConnectionPools.abort` closed it.
 */
export type PoolEntry = {
  id: string;
  key: string;
  pool: Pool;
  /** The same pool with one resend, over a new connection, if a reused connection is lost before any response byte. */
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
 * Keeps connections for reuse, separately for each key (an endpoint). A hanging endpoint therefore never holds a socket
 * that another endpoint at the same host needs.
 */
export class ConnectionPools {
  readonly #connect: GuardedConnector;
  readonly #bounds: PoolBounds;
  // A Map keeps insertion order. Each use inserts an entry again, so the first entry is the least recently used.
  readonly #entries = new Map<string, PoolEntry>();
  /** Pools that accept no more requests and close when their last request ends. */
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

  /** Returns the pool of a key and an origin, created on first use. It counts as in use until `release`. */
  take(key: string, origin: string): PoolEntry {
    const id = `${key} ${origin}`;
    const entry = this.#entries.get(id) ?? this.#makeEntry({ id, key }, origin);
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    entry.inFlight++;
    if (this.#entries.size > maxPools) this.#endFirst();
    return entry;
  }

  /** Ends a request's use of a pool. After its last request, a pool closes if it is still connecting or has no connection to keep. */
  release(entry: PoolEntry): void {
    entry.inFlight--;
    if (entry.inFlight > 0) return;
    if (entry.dials > 0 || entry.open === 0 || this.#waiting.length > 0 || this.#retired.has(entry)) this.#end(entry);
  }

  /** Closes every connection and connection attempt of a key. Its requests fail, and later ones get new connections. */
  abort(key: string): void {
    for (const entry of this.#all().filter((one) => one.key === key)) {
      entry.isAborted = true;
      this.#end(entry);
    }
  }

  /** Closes every connection. Requests in flight fail. */
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
          // Wait until undici has handled the close too. The clients of a pool without connections use far more memory than a new pool.
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

  /** Closes the least recently used idle pool, which has a connection; returns whether one exists. */
  #endFirst(): boolean {
    const first = this.#entries.values().find(({ inFlight }) => inFlight === 0);
    if (first) this.#end(first);
    return first !== undefined;
  }

  /**
   * Closes the idle connections of the least recently used pool that has any; its requests continue. Otherwise an
   * endpoint with one hanging request would keep its idle sockets from waiting requests.
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
    entry.ended.abort(new ConnectError('http', 'the connection pool was closed'));
    void entry.pool.destroy();
  }
}

/** Sends a request over a client's one connection, which closes after the response or when `ended` aborts. */
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
