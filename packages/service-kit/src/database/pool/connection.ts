import type { Socket } from 'node:net';
import postgres from 'postgres';
import { NotConnected } from '../database-errors.ts';

/** Hands a statement to a pool, a transaction or a connection, once somebody awaits it. */
export type Send = (statement: Statement) => void;

/** The members of a statement of postgres.js 3.4 that this folder uses; docs/adr/0040-one-driver-instance-per-connection.md says why. */
interface DriverStatement extends Promise<unknown> {
  handler: Send;
  reject(error: unknown): void;
  /** Written values, which the driver keeps when it sends a statement again, and would write a second time. */
  parameters: unknown;
  /** The driver passes over a statement that has this set. */
  cancelled: unknown;
}

type Template = readonly string[];
/** What the driver is told of one statement. */
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
 * A statement as postgres.js makes it from a template. It is sent by whoever it was made for, and tells when a migration has changed its
 * result columns: the driver would send such a statement again by itself, with its values written twice.
 */
export class Statement extends DriverStatement {
  readonly template: Template;
  /** The connection that has no other statement under way: it may send the statement again. */
  aloneOn: { runAgain(statement: Statement): void } | undefined;

  constructor(template: Template, values: readonly unknown[], send: Send, options: StatementOptions = {}) {
    super(template, values, send, undefined, options);
    this.template = template;
  }

  /** The driver sets it when it is about to send the statement again, and at no other time; it reads nothing. */
  set retried(error: unknown) {
    this.cancelled = true;
    const { aloneOn } = this;
    if (aloneOn) queueMicrotask(() => aloneOn.runAgain(this));
    else this.reject(error);
  }

  /** Lets the driver send the statement once more, with its values as they were given. */
  rewind(): void {
    this.cancelled = null;
    this.parameters = undefined;
  }

  /** Calls `settled` when it ends, without having it sent as `then` does. */
  whenSettled(settled: (error?: unknown) => void): void {
    Promise.prototype.then.call(this, () => settled(), settled);
  }
}

/** Returns the driver's tagged template and its helpers, with statements that go to `send`. `maker` is an instance that never connects. */
export function statementsFor<Sql extends postgres.ISql>(maker: Sql, send: Send): Sql {
  const helper = maker as unknown as (...given: readonly unknown[]) => unknown;
  const sql = (template: unknown, ...values: readonly unknown[]) =>
    Array.isArray(template) && 'raw' in template ? new Statement(template, values, send) : helper(template, ...values);
  const unsafe = (text: string, values: readonly unknown[] = [], options: StatementOptions = {}) =>
    new Statement([text], values, send, { prepare: false, simple: values.length === 0, ...options });
  const { types, typed, json, array } = maker;
  return Object.assign(sql, { types, typed, json, array, unsafe }) as unknown as Sql;
}

/** Settings of postgres.js as it has read them. */
export type DriverOptions = postgres.ParsedOptions;

/** Time in which PostgreSQL closes a connection that is no longer wanted. */
const closeMs = 1_000;
/** PostgreSQL's Terminate message. */
const terminate = Buffer.from([0x58, 0, 0, 0, 4]);
/**
 * The pool counts time and hosts itself, and its sockets are encrypted already. A host that has vanished is found half a minute after its last word,
 * however long a statement may take: after 15 s without any the kernel asks ten times, each second.
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
 * One connection: an instance of postgres.js that has one socket and is given one statement or transaction at a time. The instance does not
 * learn of the socket's end, after which postgres.js keeps state that belongs to nobody: the statements of a connection that has ended fail
 * here, and the instance is dropped with its socket.
 */
export class Connection {
  readonly bornAtMs = performance.now();
  isGone = false;
  /** Time at which the oldest statement under way had its turn. */
  busySinceMs: number | undefined;
  readonly #socket: Socket;
  readonly #send: Send;
  readonly #underWay = new Set<Statement>();
  readonly #ended: (connection: Connection) => void;

  constructor(socket: Socket, options: DriverOptions, ended: (connection: Connection) => void) {
    this.#socket = socket;
    this.#ended = ended;
    const driver = postgres({ ...options, ...ownedByPool, socket: () => bytesOf(socket) } as object);
    this.#send = (driver`` as unknown as Statement).handler;
    socket.on('error', () => undefined);
    socket.once('close', () => this.end(new NotConnected('CONNECTION_CLOSED', 'the connection has ended')));
  }

  /** Sends a statement behind those under way. It fails with the connection; `settled` is called when it has ended. */
  run(statement: Statement, settled?: (error?: unknown) => void): void {
    this.#underWay.add(statement);
    this.busySinceMs ??= performance.now();
    statement.whenSettled((error) => {
      this.#underWay.delete(statement);
      this.busySinceMs = this.#underWay.size > 0 ? performance.now() : undefined;
      // An error of PostgreSQL leaves the connection in order; an error of the driver itself says nothing of its state.
      const isRefusal = error instanceof postgres.PostgresError && error.severity === 'ERROR';
      if (error !== undefined && !isRefusal) this.end(error);
      settled?.(error);
    });
    if (this.isGone)
      statement.reject(new NotConnected('CONNECTION_CLOSED', 'the connection of this statement has ended'));
    else this.#send(statement);
  }

  /** Sends a statement that is the only one under way once more, where its result columns have changed. */
  runAgain(statement: Statement): void {
    statement.rewind();
    this.#send(statement);
  }

  /** Ends the connection: at once, and what is under way fails with `error`; without one it is idle, and PostgreSQL is told. */
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

/** Returns what postgres.js gets in place of a socket: the bytes that come, and no other event. */
function bytesOf(socket: Socket) {
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
