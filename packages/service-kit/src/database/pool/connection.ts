import type { Socket } from 'node:net';
import postgres from 'postgres';
import { NotConnected } from '../database-errors.ts';
import type { Send, Statement } from './statement.ts';

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
