import postgres from 'postgres';

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
type DriverOptions = { prepare?: boolean; simple?: boolean };

const { constructor: DriverStatement } = postgres({ max: 1 })`` as unknown as {
  constructor: new (
    template: Template,
    values: readonly unknown[],
    send: Send,
    canceller?: undefined,
    options?: DriverOptions,
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

  constructor(template: Template, values: readonly unknown[], send: Send, options: DriverOptions = {}) {
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
  const unsafe = (text: string, values: readonly unknown[] = [], options: DriverOptions = {}) =>
    new Statement([text], values, send, { prepare: false, simple: values.length === 0, ...options });
  const { types, typed, json, array } = maker;
  return Object.assign(sql, { types, typed, json, array, unsafe }) as unknown as Sql;
}
