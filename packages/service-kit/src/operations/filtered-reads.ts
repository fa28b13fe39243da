import type { Sql } from '../database/database.ts';
import { FairPermits, PermitQueue } from '../fairness/fair-permits.ts';
import type { Call } from './operation.ts';

const waiting = { most: 200, ms: 10_000 };

/** Permits of this process for searches: five at once, one per customer, live and sandbox together. Background searches use them too. */
export const searchPermits = new PermitQueue(new FairPermits(8, 1 / 4), waiting.most, waiting.ms);

/** Filters of a list as its caller gave them; undefined if omitted. */
interface GivenFilters {
  /** Part of a string. A string that no row has, or one of two letters, makes the query scan all rows of an account. */
  text?: string | undefined;
  /**
   * Filters with an index each, in the list's order. Two of them may each match nearly all rows of the account, and together none. Filters that
   * share an index count as one.
   */
  indexed: readonly unknown[];
}

/**
 * Runs a read that takes longer the more data an account has. It keeps a processor of the database busy, so it needs a permit.
 * Throws 429 or 503, naming `resource`, if none becomes free in time.
 */
export async function search<Result>(
  { prefetch }: Pick<Call<never>, 'prefetch'>,
  resource: string,
  read: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  return prefetch(({ onConnection, withPermit }) =>
    withPermit(searchPermits, resource, () => onConnection((sql) => read(sql))),
  );
}

/** Reads a list by filters. If no index has its rows in order, the read is a `search`. */
export async function readFiltered<Result>(
  { tx, prefetch }: Pick<Call<never>, 'tx' | 'prefetch'>,
  resource: string,
  { text, indexed }: GivenFilters,
  read: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const isSearch = text !== undefined || indexed.filter((each) => each !== undefined).length > 1;
  return isSearch ? await search({ prefetch }, resource, read) : await read(tx);
}
