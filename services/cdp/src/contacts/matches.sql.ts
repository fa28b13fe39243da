import type { Sql } from '@customer-platform/service-kit';
import { type ContactRow, columns } from './contacts.sql.ts';

/** Columns that contacts are matched by; the first with a match decides. */
export const matchColumns = ['external_id', 'email', 'phone'] as const;
export type MatchColumn = (typeof matchColumns)[number];

/** A value to look up. */
export interface Lookup {
  column: MatchColumn;
  value: string;
}

/** The contacts that match a value. */
export interface Match extends Lookup {
  /** The oldest contacts with the value that were not merged: `most` of them, or all. */
  ids: string[];
  /** The survivor of the oldest merged contact with the value; null if none, or if `ids` may be incomplete. */
  survivor: string | null;
}

/**
 * Returns the matches of each value, in one statement. The caller must hold `lockLookups`, so each value is found by its column's index.
 * `any(array[…])` makes the planner use that index: with an equality, it would sort by id alone, which any index provides.
 */
export async function selectMatches(
  tx: Sql,
  accountId: string,
  lookups: readonly Lookup[],
  most: number,
): Promise<Match[]> {
  const of = (column: MatchColumn) => {
    const asked = lookups.filter((lookup) => lookup.column === column);
    const having = tx`from contacts where account_id = ${accountId} and ${tx(column)} = any(array[asked.value])`;
    return tx`
      select ${column}::text as column, asked.value, found.ids, case when cardinality(found.ids) < ${most} then (
        select merged_into ${having} and merged_into is not null order by ${tx(column)}, id limit 1) end as survivor
      from unnest(${asked.map(({ value }) => value)}::text[]) as asked (value)
      cross join lateral (
        select array(select id ${having} and merged_into is null order by ${tx(column)}, id limit ${most}) as ids offset 0) as found`;
  };
  return await tx<Match[]>`${of('external_id')} union all ${of('email')} union all ${of('phone')}`;
}

/** Returns contacts, locked in id order until the transaction ends; none if their tags and fields exceed `maxBytes` together. */
export async function lockWithin(tx: Sql, accountId: string, ids: readonly string[], maxBytes: number) {
  return await tx<ContactRow[]>`
    with locked as materialized (
      select ${columns(tx)} from contacts where account_id = ${accountId} and id = any(${[...ids]}::uuid[])
      order by id for update
    )
    select * from locked where ${maxBytes} >= (
      select sum(octet_length(fields::text) + octet_length(array_to_string(tags, ','))) from locked)`;
}
