import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../values/backoff.ts';
import { waitUntil, withTimeout } from '../../values/with-timeout.ts';
import { NotConnected } from '../database-errors.ts';
import { Connection, type DriverOptions, Statement } from './connection.ts';
import { dial } from './dial.ts';

/** Time beyond the server's timeout after which the pool gives a statement up. PostgreSQL's own error comes first if possible. */
const graceMs = 1_000;
/** Interval at which the pool checks deadlines. */
const sweepMs = 500;
const idleMs = 20_000;
/** Time for authentication and the first statement of a connection. */
const beginMs = 5_000;
/** Pauses between rounds of connection attempts to all hosts. A server that closes its connections is often back at once. */
const pauses = { firstMs: 50, longestMs: 500 };
/** Codes of failures that do not show the server's state: it may be about to start. */
const inconclusive = new Set(['CONNECTION_CLOSED', 'STATEMENT_TIMEOUT']);

const timedOut = (ms: number, cause?: unknown) =>
  new NotConnected('STATEMENT_TIMEOUT', `PostgreSQL did not respond to a statement within ${ms} ms`, cause);

type Waiter = PromiseWithResolvers<Connection> & { untilMs: number; waitMs: number };

interface PoolOptions {
  driver: DriverOptions;
  size: number;
  /** PostgreSQL's statement timeout. */
  statementMs: number;
}

/** Returns a statement that `Connection.run` sends; awaiting it sends nothing. */
const ownStatement = (text: string) => new Statement([text], [], () => undefined, { simple: true, prepare: false });

/**
 * Connections that each run one statement or transaction at a time. Callers wait for one in order of arrival; waiting and running have deadlines.
 * The pool opens connections on demand and reuses the last used one, so that after a burst the others become idle. It closes a connection that
 * was idle for 20 s, since each is a PostgreSQL process with its own caches.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #waiting: Waiter[] = [];
  #connecting = 0;
  #nextHost = 0;
  #connectError: unknown;
  #isEnding = false;
  #sweep: NodeJS.Timeout | undefined;
  #unansweredSinceMs: number | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#all.size;
  }

  /** The pool's size, its connections in use by a statement or transaction, and the callers that wait for one. */
  get use() {
    const { size } = this.#options;
    return { size, used: this.#all.size - this.#idle.length, waiting: this.#waiting.length };
  }

  /** Milliseconds for which PostgreSQL has not responded although statements run or wait; 0 while it responds. */
  get stalledMs(): number {
    return this.#unansweredSinceMs === undefined ? 0 : performance.now() - this.#unansweredSinceMs;
  }

  /** Runs one statement on a connection of its own. */
  readonly run = (statement: Statement): void => {
    this.acquire(this.#options.statementMs + graceMs).then(
      (connection) => this.#runOn(connection, statement),
      (error: unknown) => statement.reject(error),
    );
  };

  /** Takes a connection, to be released. Throws NotConnected if none is free within `waitMs`; its cause says why none could be opened. */
  async acquire(waitMs: number): Promise<Connection> {
    this.#unansweredSinceMs ??= performance.now();
    this.#sweep ??= setTimeout(this.#checkDeadlines, sweepMs);
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#isEnding) throw new NotConnected('CONNECTION_CLOSED', 'the pool is closed');
    const waiter = { ...Promise.withResolvers<Connection>(), untilMs: performance.now() + waitMs, waitMs };
    this.#waiting.push(waiter);
    this.#connectMore();
    return await waiter.promise;
  }

  release(connection: Connection): void {
    if (connection.isGone) return;
    const { max_lifetime: seconds } = this.#options.driver;
    if (this.#isEnding || (seconds && performance.now() - connection.bornAtMs > seconds * 1_000)) {
      connection.end();
      return;
    }
    const next = this.#waiting.shift();
    if (next) next.resolve(connection);
    else this.#idle.push(connection);
  }

  /** Notes that PostgreSQL has responded to a statement. */
  responded(): void {
    this.#unansweredSinceMs = undefined;
  }

  /** Closes all connections: idle ones at once, those in use after at most `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    for (const connection of [...this.#idle]) connection.end();
    await waitUntil(() => this.#all.size === 0, timeoutMs);
    const error = new NotConnected('CONNECTION_CLOSED', 'the pool is closed');
    for (const waiter of this.#waiting.splice(0)) waiter.reject(error);
    for (const connection of this.#all) connection.end(error);
    clearTimeout(this.#sweep);
  }

  #runOn(connection: Connection, statement: Statement): void {
    statement.aloneOn = connection;
    connection.run(statement, (error) => {
      if (error === undefined || (error as { severity?: unknown }).severity !== undefined) this.responded();
      // The driver keeps counting the rows of a failed statement until the next one completes (postgres.js #1181).
      if (error !== undefined && !connection.isGone) connection.run(ownStatement('select'));
      this.release(connection);
    });
  }

  #connectMore(): void {
    const { size } = this.#options;
    while (!this.#isEnding && this.#waiting.length > this.#connecting && this.#all.size + this.#connecting < size) {
      this.#connecting++;
      void this.#connectForWaiter().finally(() => {
        this.#connecting--;
        this.#connectMore();
      });
    }
  }

  /** Tries the hosts in turn until one accepts a connection, no caller waits, or the only host reports an error. */
  async #connectForWaiter(): Promise<void> {
    const hosts = this.#options.driver.host.length;
    for (let attempts = 0; this.#waiting.length > 0 && !this.#isEnding; attempts++) {
      const rounds = Math.floor(attempts / hosts);
      if (rounds > 0) await sleep(backoffMs(pauses, rounds));
      try {
        const connection = await this.#connectTo(this.#nextHost++ % hosts);
        if (connection) return this.release(connection);
      } catch (error) {
        this.#connectError = error;
        const mayBeStarting = inconclusive.has(String((error as { code?: unknown }).code));
        if (hosts === 1 && !mayBeStarting) return this.#waiting.shift()?.reject(error);
      }
    }
  }

  /** Returns a connection on which PostgreSQL has responded. Undefined if it has closed, or is to a standby and the URL asks for a primary. */
  async #connectTo(host: number): Promise<Connection | undefined> {
    const { driver } = this.#options;
    const socket = await dial(driver, host);
    const connection = new Connection(socket, driver, this.#forget);
    socket.setTimeout(idleMs).on('timeout', () => this.#idle.includes(connection) && connection.end());
    const asked = ownStatement('select pg_is_in_recovery() as standby');
    connection.run(asked);
    try {
      const [row] = (await withTimeout(beginMs, asked)) as unknown as [{ standby: boolean }];
      this.#connectError = undefined;
      if (connection.isGone) return undefined;
      if (row.standby && wantsPrimary(driver.target_session_attrs)) {
        connection.end();
        return undefined;
      }
      this.#all.add(connection);
      return connection;
    } catch (error) {
      connection.end(error);
      throw error;
    }
  }

  readonly #forget = (connection: Connection): void => {
    this.#all.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#connectMore();
  };

  readonly #checkDeadlines = (): void => {
    // One turn of the event loop later, so that responses that have arrived are read first.
    setImmediate(() => {
      const now = performance.now();
      const { statementMs } = this.#options;
      const busyFor = (ms: number) => [...this.#all].filter(({ busySinceMs = now }) => busySinceMs < now - ms);
      if (busyFor(statementMs + graceMs).length > 0) {
        // Other connections are probably silent too: the idle ones, and those busy for more than half the timeout.
        for (const connection of [...this.#idle]) connection.end();
        for (const connection of busyFor(statementMs / 2)) connection.end(timedOut(statementMs));
      }
      const late = this.#waiting.filter(({ untilMs }) => untilMs < now);
      if (late.length > 0) this.#waiting = this.#waiting.filter(({ untilMs }) => untilMs >= now);
      for (const { reject, waitMs } of late) reject(timedOut(waitMs, this.#connectError));
      const isBusy = this.#waiting.length > 0 || this.#all.size > this.#idle.length;
      this.#sweep = isBusy && !this.#isEnding ? setTimeout(this.#checkDeadlines, sweepMs) : undefined;
    });
  };
}

/** Every process writes, so the primary is the only useful server among the kinds that a URL may ask for. */
const wantsPrimary = (attributes: unknown) => attributes === 'primary' || attributes === 'read-write';
