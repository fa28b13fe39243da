import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../values/backoff.ts';
import { waitUntil, withTimeout } from '../../values/with-timeout.ts';
import { NotConnected } from '../database-errors.ts';
import { Connection, type DriverOptions, Statement } from './connection.ts';
import { dial } from './dial.ts';

/** Time after which the client gives up a statement, beyond the server's own timeout: PostgreSQL's error comes first where it can. */
const graceMs = 1_000;
/** Interval at which deadlines are checked. */
const sweepMs = 500;
const idleMs = 20_000;
/** Time for authentication and the first statement of a connection. */
const beginMs = 5_000;
/** Pauses between rounds of dialling all hosts: a server that closes its connections is often back at once. */
const pauses = { firstMs: 50, longestMs: 500 };
/** Codes of failures that say nothing of the server: it may be about to start. */
const saysNothing = new Set(['CONNECTION_CLOSED', 'STATEMENT_TIMEOUT']);

const timedOut = (ms: number, cause?: unknown) =>
  new NotConnected('STATEMENT_TIMEOUT', `PostgreSQL did not respond to a statement within ${ms} ms`, cause);

type Waiter = PromiseWithResolvers<Connection> & { untilMs: number; waitMs: number };

interface PoolOptions {
  driver: DriverOptions;
  size: number;
  /** Time that PostgreSQL gives a statement. */
  statementMs: number;
}

/** Returns a statement that is sent by being given to a connection, and not by being awaited. */
const ownStatement = (text: string) => new Statement([text], [], () => undefined, { simple: true, prepare: false });

/**
 * Connections, each used by one statement or transaction at a time; those that wait for one, first come, first served; and the deadlines of
 * both. Connections are opened on demand, and the one that was used last is used next: the others of a burst become idle, and one that was idle for 20 s
 * is closed. Each is a process of PostgreSQL with caches of its own.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #waiting: Waiter[] = [];
  #dialling = 0;
  #nextHost = 0;
  #dialError: unknown;
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

  /** Connections that it may have and that run a statement or are held by a transaction; statements and transactions that wait for one. */
  get use() {
    const { size } = this.#options;
    return { size, used: this.#all.size - this.#idle.length, waiting: this.#waiting.length };
  }

  /** Milliseconds for which no statement has ended although some run or wait; 0 where all is well. */
  get standsStillMs(): number {
    return this.#unansweredSinceMs === undefined ? 0 : performance.now() - this.#unansweredSinceMs;
  }

  /** Runs one statement on a connection of its own. */
  readonly run = (statement: Statement): void => {
    this.take(this.#options.statementMs + graceMs).then(
      (connection) => this.#runOn(connection, statement),
      (error: unknown) => statement.reject(error),
    );
  };

  /** Takes a connection, to be given back. Throws NotConnected where none is free within `waitMs`, and why none can be opened. */
  async take(waitMs: number): Promise<Connection> {
    this.#unansweredSinceMs ??= performance.now();
    this.#sweep ??= setTimeout(this.#checkDeadlines, sweepMs);
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#isEnding) throw new NotConnected('CONNECTION_CLOSED', 'the pool is closed');
    const waiter = { ...Promise.withResolvers<Connection>(), untilMs: performance.now() + waitMs, waitMs };
    this.#waiting.push(waiter);
    this.#dialMore();
    return await waiter.promise;
  }

  giveBack(connection: Connection): void {
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

  /** Takes note that a statement has ended, however. */
  responded(): void {
    this.#unansweredSinceMs = undefined;
  }

  /** Ends all connections, those in use after `timeoutMs` at most. */
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
      // The driver goes on counting the rows of a statement that failed amid them, until the next one is complete.
      if (error !== undefined && !connection.isGone) connection.run(ownStatement('select'));
      this.giveBack(connection);
    });
  }

  #dialMore(): void {
    const { size } = this.#options;
    while (!this.#isEnding && this.#waiting.length > this.#dialling && this.#all.size + this.#dialling < size) {
      this.#dialling++;
      void this.#dial().finally(() => {
        this.#dialling--;
        this.#dialMore();
      });
    }
  }

  /** Dials the hosts in turn until one takes a connection, nobody waits any more, or the only host says why not. */
  async #dial(): Promise<void> {
    const hosts = this.#options.driver.host.length;
    for (let tries = 0; this.#waiting.length > 0 && !this.#isEnding; tries++) {
      const rounds = Math.floor(tries / hosts);
      if (rounds > 0) await sleep(backoffMs(pauses, rounds));
      try {
        const connection = await this.#connect(this.#nextHost++ % hosts);
        if (connection) return this.giveBack(connection);
      } catch (error) {
        this.#dialError = error;
        const mayStart = saysNothing.has(String((error as { code?: unknown }).code));
        if (hosts === 1 && !mayStart) return this.#waiting.shift()?.reject(error);
      }
    }
  }

  /** Returns a connection on which PostgreSQL has responded; undefined where the URL asks for the primary and the server is none. */
  async #connect(host: number): Promise<Connection | undefined> {
    const { driver } = this.#options;
    const socket = await dial(driver, host);
    const connection = new Connection(socket, driver, this.#forget);
    socket.setTimeout(idleMs).on('timeout', () => this.#idle.includes(connection) && connection.end());
    const asked = ownStatement('select pg_is_in_recovery() as standby');
    connection.run(asked);
    try {
      const [row] = (await withTimeout(beginMs, asked)) as unknown as [{ standby: boolean }];
      this.#dialError = undefined;
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
    this.#dialMore();
  };

  readonly #checkDeadlines = (): void => {
    // After a turn of the event loop: what has arrived already is read first.
    setImmediate(() => {
      const now = performance.now();
      const { statementMs } = this.#options;
      const busyFor = (ms: number) => [...this.#all].filter(({ busySinceMs = now }) => busySinceMs < now - ms);
      if (busyFor(statementMs + graceMs).length > 0) {
        // Others to the same server are likely silent as well: those that are idle, and those that have been busy for long.
        for (const connection of [...this.#idle]) connection.end();
        for (const connection of busyFor(statementMs / 2)) connection.end(timedOut(statementMs));
      }
      const late = this.#waiting.filter(({ untilMs }) => untilMs < now);
      if (late.length > 0) this.#waiting = this.#waiting.filter(({ untilMs }) => untilMs >= now);
      for (const { reject, waitMs } of late) reject(timedOut(waitMs, this.#dialError));
      const isBusy = this.#waiting.length > 0 || this.#all.size > this.#idle.length;
      this.#sweep = isBusy && !this.#isEnding ? setTimeout(this.#checkDeadlines, sweepMs) : undefined;
    });
  };
}

/** Every process writes: of the kinds of servers that a URL may ask for, the primary is the only one of use. */
const wantsPrimary = (attributes: unknown) => attributes === 'primary' || attributes === 'read-write';
