import { createHash } from 'node:crypto';

/**
 * Returns the number of an advisory lock that goes by texts of a customer's choice, as text for a bigint parameter. Advisory locks are one space for
 * the whole database, and PostgreSQL's own hash can be calculated backwards: with it a customer finds a text whose lock is that of a service.
 */
export function lockNumber(...texts: string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest().readBigInt64BE().toString();
}
