/** A statement of postgres.js on its way; the members are those that its 3.4 line has had throughout. */
export interface RunningStatement {
  canceller: unknown;
  /** Hands it to a connection: the pool's, or a transaction's own. */
  handler: (statement: RunningStatement) => void;
  /** Set once a connection has it. */
  state: unknown;
  /** Set once it has been written for a connection; without it nothing of it was sent. */
  statement: unknown;
  /** Set once its turn has come on that connection, on which others may have been sent before it. */
  active: boolean;
  /** A connection that is given it while this is set passes it over. */
  cancelled: unknown;
  options: { onexecute?: unknown };
  executed: boolean;
  strings?: readonly string[];
  args?: readonly unknown[];
  /** Those of a statement that was written before, which are kept. */
  parameters?: unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  handle(): unknown;
}

/** Text of a statement that was given up before it was sent. */
const nothing = ['select'];

/** Handlers of transactions whose connection is gone, by which their statements are known. */
const ended = new WeakSet<RunningStatement['handler']>();

/** A statement of a transaction whose connection has ended. */
class TransactionEnded extends Error {
  readonly code = 'CONNECTION_CLOSED';

  constructor() {
    super('the connection of this transaction has ended');
  }
}

/** Takes note that a transaction is over, of which `probe` is a statement that was not sent: nothing more of it is. */
export function endTransaction(probe: RunningStatement): void {
  ended.add(probe.handler);
}

/**
 * Has a statement of a transaction refused if its connection has ended by the time that it would be sent: postgres.js would send it into the
 * socket that is gone, and the error, which nobody can catch, ends the process (its issue 1208).
 */
export function refuseAfterEnd(statement: RunningStatement): void {
  const { handler } = statement;
  statement.handler = (sent) => {
    if (ended.has(handler)) sent.reject(new TransactionEnded());
    else handler(sent);
  };
}

/**
 * Has a statement do nothing that waits for a connection and is given up: postgres.js keeps it, and sends it once there is one, when nobody waits for it and
 * it may have been made again. Were it cancelled, the connection that gets it would be lost.
 */
export function makeHarmless(statement: RunningStatement): void {
  statement.strings = nothing;
  statement.args = [];
  statement.parameters = undefined;
}
