import { ApiError } from '@customer-platform/contracts/core';
import postgres from 'postgres';

/** A connection that did not come to be, ended before it was of use or is silent; or none was free, and `cause` is why none could be made, if that is so. */
export class NotConnected extends Error {
  readonly code: string;

  constructor(code: 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED' | 'STATEMENT_TIMEOUT', message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** The name of the constraint that a statement broke, where its error says one. */
export function brokenConstraint(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.constraint_name : undefined;
}

// 25006: a server that is no primary any more, or not yet; 53100 and 58030: its disk is full or broken.
const unavailable = /^(08|57P0|53300|25P03|25006|53100|58030)/;
/** Codes of sockets and names, of the driver, and of our pool. */
const unreachable = new Set(
  [
    'ECONNREFUSED ECONNRESET EPIPE ENOENT ETIMEDOUT ECONNABORTED EADDRNOTAVAIL EMFILE EHOSTUNREACH ENETUNREACH ENOTFOUND',
    'EAI_AGAIN CONNECT_TIMEOUT CONNECTION_CLOSED CONNECTION_ENDED CONNECTION_DESTROYED STATEMENT_TIMEOUT',
  ].flatMap((codes) => codes.split(' ')),
);

/** Returns whether another attempt may succeed where this one failed: its statement was cut off, or PostgreSQL rolled it back for another. */
export function isTemporaryFailure(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (isStatementTimeout(error) || isTransactionConflict(error));
}

/**
 * Returns whether PostgreSQL rolled a transaction back in favour of another: deadlock or serialization failure, or a migration that changed the columns of
 * a statement, which are no longer those that its connection knows.
 */
export function isTransactionConflict(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  const { code, routine } = error;
  return code === '40P01' || code === '40001' || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

/** Returns whether PostgreSQL cut a statement off that took too long or waited too long for a lock. */
export function isStatementTimeout(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === '57014' || error.code === '55P03');
}

/** Returns whether the database is unavailable (restarting, unreachable, out of connections), rather than the statement wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return unreachable.has(code) || (error instanceof postgres.PostgresError && unavailable.test(code));
}

/** Returns whether something failed because the database or another service is unavailable. */
export function isUnavailable(error: unknown): boolean {
  return isDatabaseUnavailable(error) || (error instanceof ApiError && error.status === 503);
}

/** The refusal for a dependency that is unavailable for the moment: 503 with Retry-After. */
export function serviceUnavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '1' }, cause });
}
