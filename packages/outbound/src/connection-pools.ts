import { type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { ConnectError, type GuardedConnector } from './guarded-connector.ts';
import { connectionClient, ResendingHandler } from './kept-connections.ts';

export type ConnectionPoolOptions = {
  connect: GuardedConnector;
  /** Sockets per pool; what is beyond waits in the pool's queue. */
  maxSocketsPerPool: number;
  /** Sockets in all: at this bound pools that are not in use are closed, and dials wait for a socket to end. */
  maxSockets: number;
  /** How long an idle socket is kept where the server does not say. */
  keepAliveMs: number;
};

/**
 * The reused connections of one key to one origin. `inFlight` counts requests not yet settled; `ended` is aborted when the pool
 * is closed, `isAborted` says that this cut off its requests.
 */
export type PoolEntry = {
  id: string;
  key: string;
  pool: Pool;
  /** The same pool; a request whose kept connection is lost before any byte of an answer is sent once more, over a new one. */
  resending: Dispatcher;
  inFlight: number;
  ended: AbortController;
  isAborted: boolean;
};

export type ConnectionPools = {
  /** The pool of a key and an origin, made at first use, counted as in use until it is given back. */
  take(key: string, origin: string): PoolEntry;
  giveBack(entry: PoolEntry): void;
  /** Ends every connection and dial of a key; its requests fail, and later ones get connections of their own. */
  abort(key: string): void;
  openSockets(): number;
  /** Ends every connection; requests on the way fail. */
  close(): Promise<void>;
};

const maxPools = 5000;
/** However long a server asks for. */
const maxKeepAliveMs = 60_000;

/**
 * Keeps connections for reuse, apart for each key (an endpoint), so that one endpoint that hangs never holds a socket
 * that another one at the same host needs.
 */
export function createConnectionPools(options: ConnectionPoolOptions): ConnectionPools {
  // The order of a Map is that of insertion: an entry is put in again when it is used, so the first is the longest unused.
  const entries = new Map<string, PoolEntry>();
  const waiting: (() => void)[] = [];
  let openSockets = 0;

  function makeEntry(id: string, key: string, origin: string): PoolEntry {
    const ended = new AbortController();
    const connect: buildConnector.connector = (target, callback) => {
      whenSocketIsFree(() => dial(target, ended.signal, callback));
    };
    const clientOptions = {
      connect,
      allowH2: false,
      keepAliveTimeout: options.keepAliveMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    const pool = new Pool(origin, {
      ...clientOptions,
      connections: options.maxSocketsPerPool,
      factory: connectionClient,
    });
    /** Sends over a connection of its own, which is closed after the answer. */
    const sendOnce: Dispatcher['dispatch'] = (target, handler) => {
      const client = new Client(origin, clientOptions);
      const endClient = () => void client.destroy();
      ended.signal.addEventListener('abort', endClient);
      const isTaken = client.dispatch(target, handler);
      void client.close().finally(() => ended.signal.removeEventListener('abort', endClient));
      return isTaken;
    };
    const resending = pool.compose((dispatch) => (target, handler) => {
      const resend = () => {
        if (ended.signal.aborted) return false;
        sendOnce(target, handler);
        return true;
      };
      return dispatch(target, new ResendingHandler(handler, resend));
    });
    return { id, key, pool, resending, inFlight: 0, ended, isAborted: false };
  }

  function whenSocketIsFree(dialNow: () => void): void {
    if (openSockets < options.maxSockets) {
      openSockets++;
      dialNow();
    } else {
      waiting.push(dialNow);
      closeLongestIdle();
    }
  }

  function dial(target: buildConnector.Options, signal: AbortSignal, callback: buildConnector.Callback): void {
    options.connect({ ...target, signal }, (error, socket) => {
      if (error) {
        socketEnded();
        callback(error, null);
      } else {
        socket.once('close', socketEnded);
        callback(null, socket);
      }
    });
  }

  function socketEnded(): void {
    const next = waiting.shift();
    if (next) next();
    else openSockets--;
  }

  function closeLongestIdle(): void {
    for (const entry of entries.values()) {
      if (entry.inFlight === 0 && entry.pool.stats.connected > 0) {
        end(entry);
        return;
      }
    }
  }

  function forgetLongestUnused(): void {
    for (const entry of entries.values()) {
      if (entry.inFlight === 0) {
        end(entry);
        return;
      }
    }
  }

  function end(entry: PoolEntry): void {
    if (entries.get(entry.id) === entry) entries.delete(entry.id);
    entry.ended.abort(new ConnectError('http', 'the connection is no longer wanted'));
    void entry.pool.destroy();
  }

  return {
    take(key, origin) {
      const id = `${key} ${origin}`;
      const entry = entries.get(id) ?? makeEntry(id, key, origin);
      entries.delete(id);
      entries.set(id, entry);
      entry.inFlight++;
      if (entries.size > maxPools) forgetLongestUnused();
      return entry;
    },
    giveBack(entry) {
      entry.inFlight--;
      if (entry.inFlight === 0 && waiting.length > 0) end(entry);
    },
    abort(key) {
      for (const entry of [...entries.values()].filter((one) => one.key === key)) {
        entry.isAborted = true;
        end(entry);
      }
    },
    openSockets: () => openSockets,
    async close() {
      const all = [...entries.values()];
      for (const entry of all) end(entry);
      await Promise.all(all.map((entry) => entry.pool.destroy()));
    },
  };
}
