import type { Sql } from '../database/database.ts';
import { FairPermits, PermitQueue } from '../fairness/fair-permits.ts';
import type { Call } from './operation.ts';

const waiting = { most: 200, ms: 10_000 };

/** Permits of this process for searches: five at once, one of a customer, live and sandbox together. Also for those that no request waits for. */
export const searches = new PermitQueue(new FairPermits(8, 1 / 4), waiting.most, waiting.ms);

/** Filters of a list as its caller gave them: undefined where not. */
interface GivenFilters {
  /** A part of a text: one that nobody's text has, or one of two letters, is looked for in all of an account's rows. */
  text?: string | undefined;
  /**
   * Each has an index of its own, in the list's order: of two given, both may be true of nearly all rows of the account, and together of none. Those that have an
   * index together are one.
   */
  indexed: readonly unknown[];
}

/**
 * Reads what takes longer the more an account stores, and has a processor of the database for itself meanwhile: `read` runs with one of the permits for that.
 * Throws 429 or 503 where none is free in time, naming `whatIsBusy`.
 */
export async function search<Result>(
  { prefetch }: Pick<Call<never>, 'prefetch'>,
  whatIsBusy: string,
  read: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  return prefetch(({ onConnection, withPermit }) =>
    withPermit(searches, whatIsBusy, () => onConnection((sql) => read(sql))),
  );
}

/** Reads a list by filters; where no index has its rows in their order it is a `search`. */
export async function readOrSearch<Result>(
  { tx, prefetch }: Pick<Call<never>, 'tx' | 'prefetch'>,
  whatIsBusy: string,
  { text, indexed }: GivenFilters,
  read: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const isSearch = text !== undefined || indexed.filter((each) => each !== undefined).length > 1;
  return isSearch ? await search({ prefetch }, whatIsBusy, read) : await read(tx);
}
