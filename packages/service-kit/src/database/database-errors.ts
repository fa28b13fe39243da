import { ApiError } from '@customer-platform/contracts/core';
import postgres from 'postgres';

/** A connection could not be opened, closed early or fell silent, or none was free. `cause` then says why none could be opened, if that is why. */
export class NotConnected extends Error {
  readonly code: string;

  constructor(code: 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED' | 'STATEMENT_TIMEOUT', message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Returns the name of the constraint that a statement violated, if its error names one. */
export function brokenConstraint(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.constraint_name : undefined;
}

// 25006: the server is read-only, so it is not the primary; 53100 and 58030: its disk is full or failing.
const unavailable = /^(08|57P0|53300|25P03|25006|53100|58030)/;
/** Error codes of sockets, DNS, the driver and the pool. */
const unreachable = new Set(
  [
    'ECONNREFUSED ECONNRESET EPIPE ENOENT ETIMEDOUT ECONNABORTED EADDRNOTAVAIL EMFILE EHOSTUNREACH ENETUNREACH ENOTFOUND',
    'EAI_AGAIN CONNECT_TIMEOUT CONNECTION_CLOSED CONNECTION_ENDED CONNECTION_DESTROYED STATEMENT_TIMEOUT',
  ].flatMap((codes) => codes.split(' ')),
);

/** Returns whether a retry may succeed: the statement timed out, or PostgreSQL rolled it back because of another transaction. */
export function isTemporaryFailure(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (isStatementTimeout(error) || isTransactionConflict(error));
}

/**
 * Returns whether PostgreSQL rolled back a transaction because of another one: a deadlock, a serialization failure or a migration. The migration
 * changed the result columns of a statement that the connection had prepared.
 */
export function isTransactionConflict(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  const { code, routine } = error;
  return code === '40P01' || code === '40001' || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

/** Returns whether PostgreSQL canceled a statement because of the statement timeout or the lock timeout. */
export function isStatementTimeout(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === '57014' || error.code === '55P03');
}

/** Returns whether the database is unavailable (restarting, unreachable, out of connections), as opposed to a faulty statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return unreachable.has(code) || (error instanceof postgres.PostgresError && unavailable.test(code));
}

/** Returns whether an operation failed because the database or another service is unavailable. */
export function isUnavailable(error: unknown): boolean {
  return isDatabaseUnavailable(error) || (error instanceof ApiError && error.status === 503);
}

/** Returns a 503 with `Retry-After: 1` for a dependency that is temporarily unavailable. */
export function serviceUnavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '1' }, cause });
}
