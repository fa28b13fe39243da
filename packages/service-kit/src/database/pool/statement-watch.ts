import { isDatabaseUnavailable } from '../database-errors.ts';
import { HeardSockets } from './heard-sockets.ts';
import { HostDialler } from './host-dialler.ts';
import { makeHarmless, type RunningStatement, refuseAfterEnd } from './running-statement.ts';
import type { TlsMode } from './server-connection.ts';
import { faultOf } from './whole-result.ts';

/** Time by which a client gives a statement up after its server: PostgreSQL's own error for one that takes too long comes first. */
const graceMs = 1_000;
const sweepMs = 500;
/** Times that a statement is sent again whose columns changed: each connection that knows it as it was costs one. */
const maxReplans = 100;
/** Times that a statement which was never sent goes to the pool again: the connection that it gets then may have broken as well. */
const maxHandOvers = 3;

interface Watched {
  statement: RunningStatement;
  startedAtMs: number;
  handOvers: number;
  replans: number;
  /** Time at which its turn was first seen to have come on its connection. */
  activeSinceMs: number | undefined;
  isOver: boolean;
}

/** Use of a pool's connections. */
export interface PoolUse {
  /** Connections that it may have. */
  size: number;
  /** Those that run a statement or are held by a transaction. */
  used: number;
  /** Statements and transactions that wait for one. */
  waiting: number;
}

/** A statement that did not end in time: its connection may be silent, or none was free. */
export class StatementTimeout extends Error {
  readonly code = 'STATEMENT_TIMEOUT';

  constructor(ms: number) {
    super(`PostgreSQL did not respond to a statement within ${ms} ms`);
  }
}

/** Returns whether PostgreSQL ended or refused a connection since it stops, crashed, starts or was told to end it. */
function isServerEnd(error: unknown): boolean {
  const { severity, code } = (error ?? {}) as { severity?: unknown; code?: unknown };
  return severity === 'FATAL' && /^57P0[123]$/.test(String(code));
}

/**
 * Gives every statement of one pool a deadline on our side. PostgreSQL cuts a slow statement off by itself; where nothing at all comes
 * (a failover without a FIN), the sockets that have been silent as long are destroyed, so that the pool dials again.
 */
export class StatementWatch {
  /** Transactions that have begun and not ended: each holds a connection. */
  transactions = 0;
  readonly #deadlineMs: number;
  readonly #sockets = new HeardSockets();
  readonly #dialler: HostDialler;
  #watched: Watched[] = [];
  #timer: NodeJS.Timeout | undefined;
  #poolHandler: unknown;
  readonly #hearers: (() => void)[] = [];
  /** Time at which the first statement began after the last one that ended. */
  #unansweredSinceMs: number | undefined;

  /**
   * @param statementMs what PostgreSQL allows a statement
   * @param tls how connections are encrypted
   */
  constructor(statementMs: number, tls: TlsMode = false) {
    this.#deadlineMs = statementMs + graceMs;
    this.#dialler = new HostDialler(this.#sockets, tls);
  }

  /** Milliseconds for which no statement has ended although some run; 0 where all is well. */
  get standsStillMs(): number {
    return this.#unansweredSinceMs === undefined ? 0 : performance.now() - this.#unansweredSinceMs;
  }

  /** Calls `hear` each time connections were ended since they are silent. */
  onSilence(hear: () => void): void {
    this.#hearers.push(hear);
  }

  /** Ends connections of which nothing has come for so many milliseconds, idle ones too: others to the same server are silent. */
  endSilent(ms: number): void {
    const now = performance.now();
    this.#sockets.sample(now);
    this.#sockets.endUnheardSince(now - ms);
  }

  /** Number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Returns the use of a pool of `size` connections. */
  use(size: number): Omit<PoolUse, 'size'> {
    // A transaction's first statement counts until it has begun; its others have another handler.
    const ofPool = this.#watched.filter(({ statement, isOver }) => !isOver && statement.handler === this.#poolHandler);
    const active = ofPool.filter(({ statement }) => statement.active);
    const used = new Set(active.map(({ statement }) => statement.state)).size + this.transactions;
    return { used: Math.min(size, used), waiting: ofPool.length - active.length };
  }

  /** Dials for the pool: the `socket` option of postgres.js. */
  get dial(): HostDialler['dial'] {
    return this.#dialler.dial;
  }

  /** Says by which handler the statements of the pool itself are known, those of no transaction. */
  knowPool(handler: unknown): void {
    this.#poolHandler = handler;
  }

  /** Watches a statement that is about to be sent. */
  watch(statement: RunningStatement): void {
    if (statement.handler !== this.#poolHandler) refuseAfterEnd(statement);
    const startedAtMs = performance.now();
    const watched = { statement, startedAtMs, handOvers: 0, replans: 0, activeSinceMs: undefined, isOver: false };
    this.#unansweredSinceMs ??= startedAtMs;
    const { resolve, reject } = statement;
    statement.resolve = (value) => {
      const fault = faultOf(value);
      if (fault) {
        statement.reject(fault);
        return;
      }
      watched.isOver = true;
      this.#responded();
      resolve.call(statement, value);
    };
    statement.reject = (error) => {
      if (this.#isRefusedUnsent(watched, error)) {
        watched.handOvers++;
        this.#handOver(watched);
        return;
      }
      // The driver keeps a statement of a connection that has closed, and rejects it again where that cannot be dialled.
      if (watched.isOver) return;
      watched.isOver = true;
      // An error that PostgreSQL sent is a response too.
      if ((error as { severity?: unknown } | undefined)?.severity !== undefined) this.#responded();
      else if (statement.state && !isDatabaseUnavailable(error)) this.#endMixedUp();
      reject.call(statement, error);
    };
    this.#watched.push(watched);
    this.#timer ??= setTimeout(this.#sweep, sweepMs);
  }

  /**
   * Ends all connections, at once: where the driver itself fails with a statement, such as a value that it cannot write, it may take the next results for those of others,
   * or have left a transaction open that nobody has. Nothing says on which.
   */
  #endMixedUp(): void {
    this.#sockets.endDialledBefore(Number.POSITIVE_INFINITY);
  }

  #responded(): void {
    this.#unansweredSinceMs = undefined;
    this.#dialler.succeeded();
  }

  /**
   * Hands a statement to the pool again whose result columns a migration changed; one of a transaction fails with `error`. To be called where the driver
   * is about to send it again by itself, in the middle of what others send: they would get each other's rows.
   */
  sendAgain(statement: RunningStatement, error: unknown): void {
    statement.cancelled = true;
    const watched = this.#watched.find((one) => one.statement === statement);
    const isOfPool = watched && statement.handler === this.#poolHandler;
    if (isOfPool && ++watched.replans <= maxReplans) this.#handOver(watched);
    else statement.reject(error);
  }

  /**
   * Returns whether a statement of the pool was refused before anything of it was sent. postgres.js keeps the error with which PostgreSQL
   * ended a connection while a statement ran, and rejects the first one with it that the connection gets after it was dialled again.
   */
  #isRefusedUnsent({ statement, handOvers, isOver }: Watched, error: unknown): boolean {
    if (isOver || handOvers === maxHandOvers || statement.handler !== this.#poolHandler) return false;
    return !statement.statement && isServerEnd(error);
  }

  /** Hands a statement to the pool once more, in a moment: the connection that refused it is open by then. Its deadline stays. */
  #handOver(watched: Watched): void {
    queueMicrotask(() => {
      watched.statement.cancelled = null;
      // Written again from its values: those that were written are texts already.
      watched.statement.parameters = undefined;
      watched.statement.active = false;
      watched.statement.state = null;
      watched.activeSinceMs = undefined;
      if (!watched.isOver) watched.statement.handler(watched.statement);
    });
  }

  readonly #sweep = () => {
    // After a turn of the event loop: what has arrived already is read first.
    setImmediate(() => {
      const now = performance.now();
      this.#sockets.sample(now);
      this.#watched = this.#watched.filter(({ isOver }) => !isOver);
      const late = this.#watched.filter(({ startedAtMs }) => startedAtMs < now - this.#deadlineMs);
      if (late.some(({ statement }) => statement.state)) this.#endSilent(now);
      this.#endTrickles(now);
      for (const each of late) {
        if (!this.#isLost(each, now)) continue;
        if (!each.statement.state) makeHarmless(each.statement);
        each.statement.reject(new StatementTimeout(this.#deadlineMs));
      }
      this.#timer = this.#watched.length > 0 ? setTimeout(this.#sweep, sweepMs) : undefined;
    });
  };

  /**
   * Whether nobody else ends a late statement. One that waits for a connection is refused, but for a transaction's first, which gives up by
   * itself (see `inTransaction`); the others in a transaction end with its connection. What is late twice over the driver has lost.
   */
  #isLost({ statement: { state, options, handler }, startedAtMs }: Watched, now: number): boolean {
    if (handler !== this.#poolHandler) return false;
    return state ? startedAtMs < now - 2 * this.#deadlineMs : !options.onexecute;
  }

  /**
   * Ends the connections of before, once, for a statement whose turn came one and a half of its deadline ago and whose connection is not silent: one brings a byte now and then, and
   * nothing says which. What others run is the price, of a fault that no server makes: PostgreSQL would have cut the statement off.
   */
  #endTrickles(now: number): void {
    const active = this.#watched.filter(({ statement }) => statement.active);
    for (const each of active) each.activeSinceMs ??= now;
    const stuck = active.filter(({ activeSinceMs }) => activeSinceMs! < now - 1.5 * this.#deadlineMs);
    if (stuck.length > 0) this.#sockets.endDialledBefore(Math.max(...stuck.map(({ activeSinceMs }) => activeSinceMs!)));
    for (const each of stuck) each.activeSinceMs = Number.POSITIVE_INFINITY;
  }

  #endSilent(now: number): void {
    if (!this.#sockets.endUnanswered(now - this.#deadlineMs)) return;
    for (const hear of this.#hearers) hear();
  }
}
