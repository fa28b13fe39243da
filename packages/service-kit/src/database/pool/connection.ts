import type { Socket } from 'node:net';
import postgres from 'postgres';
import { NotConnected } from '../database-errors.ts';

/** Sends a statement to a pool, a transaction or a connection. It is called once the statement is awaited. */
export type Send = (statement: Statement) => void;

/** The members of a postgres.js 3.4 statement that this folder uses; docs/adr/0040-one-driver-instance-per-connection.md says why. */
interface DriverStatement extends Promise<unknown> {
  handler: Send;
  reject(error: unknown): void;
  /** Serialized values. The driver keeps them when it retries a statement, and would serialize them a second time. */
  parameters: unknown;
  /** The driver skips a statement whose `cancelled` is set. */
  cancelled: unknown;
}

type Template = readonly string[];
/** Options that the driver reads from a statement. */
type StatementOptions = { prepare?: boolean; simple?: boolean };

const { constructor: DriverStatement } = postgres({ max: 1 })`` as unknown as {
  constructor: new (
    template: Template,
    values: readonly unknown[],
    send: Send,
    canceller?: undefined,
    options?: StatementOptions,
  ) => DriverStatement;
};

/**
 * A postgres.js statement made from a template; `send` sends it once it is awaited. It intercepts the driver's retry after a migration changed its
 * result columns, since that would serialize its values twice. Remove the interception with the release that contains postgres.js #1198.
 */
export class Statement extends DriverStatement {
  readonly template: Template;
  /** The connection on which no other statement is under way; it may retry this one. */
  aloneOn: { runAgain(statement: Statement): void } | undefined;

  constructor(template: Template, values: readonly unknown[], send: Send, options: StatementOptions = {}) {
    super(template, values, send, undefined, options);
    this.template = template;
  }

  /** The driver sets this only when it is about to retry the statement, and never reads it. */
  set retried(error: unknown) {
    this.cancelled = true;
    const { aloneOn } = this;
    if (aloneOn) queueMicrotask(() => aloneOn.runAgain(this));
    else this.reject(error);
  }

  /** Lets the driver send the statement again, with its original values. */
  rewind(): void {
    this.cancelled = null;
    this.parameters = undefined;
  }

  /** Calls `settled` when the statement settles, without sending it as `then` does. */
  whenSettled(settled: (error?: unknown) => void): void {
    Promise.prototype.then.call(this, () => settled(), settled);
  }
}

/** Returns the driver's tagged template and helpers, with statements that go to `send`. `maker` is a driver instance that never connects. */
export function statementsFor<Sql extends postgres.ISql>(maker: Sql, send: Send): Sql {
  const helper = maker as unknown as (...given: readonly unknown[]) => unknown;
  const sql = (template: unknown, ...values: readonly unknown[]) =>
    Array.isArray(template) && 'raw' in template ? new Statement(template, values, send) : helper(template, ...values);
  const unsafe = (text: string, values: readonly unknown[] = [], options: StatementOptions = {}) =>
    new Statement([text], values, send, { prepare: false, simple: values.length === 0, ...options });
  const { types, typed, json, array } = maker;
  return Object.assign(sql, { types, typed, json, array, unsafe }) as unknown as Sql;
}

/** Options of postgres.js after parsing. */
export type DriverOptions = postgres.ParsedOptions;

/** Time that PostgreSQL has to close a connection after Terminate. */
const closeMs = 1_000;
/** PostgreSQL's Terminate message. */
const terminate = Buffer.from([0x58, 0, 0, 0, 4]);
/**
 * The pool handles deadlines, hosts and TLS itself. TCP keepalive fails a statement within 30 s after its host vanishes, whatever its timeout: after
 * 15 s of silence the kernel sends ten probes, one a second.
 */
const ownedByPool = {
  max: 1,
  idle_timeout: null,
  max_lifetime: null,
  connect_timeout: 0,
  target_session_attrs: null,
  ssl: false,
  keep_alive: 15,
};

/**
 * One connection: a postgres.js instance with one socket, which runs one statement or transaction at a time. The instance never learns that its
 * socket closed, since postgres.js would then keep stale state. The connection rejects its statements itself, and the instance is dropped with
 * the socket.
 */
export class Connection {
  readonly bornAtMs = performance.now();
  isGone = false;
  /** Time at which the oldest statement under way became the first in line; undefined while idle. */
  busySinceMs: number | undefined;
  readonly #socket: Socket;
  readonly #send: Send;
  readonly #underWay = new Set<Statement>();
  readonly #ended: (connection: Connection) => void;

  constructor(socket: Socket, options: DriverOptions, ended: (connection: Connection) => void) {
    this.#socket = socket;
    this.#ended = ended;
    const driver = postgres({ ...options, ...ownedByPool, socket: () => dataOnlySocket(socket) } as object);
    this.#send = (driver`` as unknown as Statement).handler;
    socket.on('error', () => undefined);
    socket.once('close', () => this.end(new NotConnected('CONNECTION_CLOSED', 'the connection was closed')));
  }

  /** Sends a statement behind those under way, and rejects it if the connection ends. Calls `settled` when it settles. */
  run(statement: Statement, settled?: (error?: unknown) => void): void {
    this.#underWay.add(statement);
    this.busySinceMs ??= performance.now();
    statement.whenSettled((error) => {
      this.#underWay.delete(statement);
      this.busySinceMs = this.#underWay.size > 0 ? performance.now() : undefined;
      // After an ERROR from PostgreSQL the connection is usable. After an error of the driver its state is unknown.
      const isRefusal = error instanceof postgres.PostgresError && error.severity === 'ERROR';
      if (error !== undefined && !isRefusal) this.end(error);
      settled?.(error);
    });
    if (this.isGone)
      statement.reject(new NotConnected('CONNECTION_CLOSED', 'the connection of this statement was closed'));
    else this.#send(statement);
  }

  /** Retries a statement whose result columns have changed. No other statement may be under way. */
  runAgain(statement: Statement): void {
    statement.rewind();
    this.#send(statement);
  }

  /** Ends the connection. With `error`: at once, and statements under way reject with it. Without: it is idle, and PostgreSQL is told. */
  end(error?: unknown): void {
    if (this.isGone) return;
    this.isGone = true;
    for (const statement of this.#underWay) statement.reject(error);
    if (error === undefined) {
      this.#socket.end(terminate);
      setTimeout(() => this.#socket.destroy(), closeMs).unref();
    } else this.#socket.destroy();
    this.#ended(this);
  }
}

/** Returns the object that postgres.js uses as its socket. It passes on received bytes and no other event. */
function dataOnlySocket(socket: Socket) {
  const driverSide = {
    on(event: string, listener: (bytes: Buffer) => void) {
      if (event === 'data') socket.on('data', listener);
      return driverSide;
    },
    write: (bytes: Buffer, written?: () => void) => socket.write(bytes, written),
    setKeepAlive: (isOn: boolean, afterMs: number) => socket.setKeepAlive(isOn, afterMs),
    destroy: () => socket.destroy(),
  };
  return driverSide;
}
