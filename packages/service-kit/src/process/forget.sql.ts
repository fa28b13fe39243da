import { bytesBefore } from '../database/bytes-before.sql.ts';
import type { Sql } from '../database/database.ts';

/** A table, not partitioned, whose rows are deleted once they are old enough. */
export interface KeptRows {
  table: string;
  /** Column of the time that counts; an index begins with it. */
  at: string;
  /** Column with most of a row's bytes. */
  bytes: string;
}

/** Most rows that one call deletes, and about how many bytes of them: those of one account may be a thousand times as large as another's. */
const mostRows = 5_000;
const mostBytes = 64 * 1_048_576;

/** Deletes the oldest rows that are of `before` or older; returns whether there may be more. */
export async function forgetOldest(tx: Sql, { table, at, bytes }: KeptRows, before: Date): Promise<boolean> {
  const [row] = await tx<[{ isAll: boolean }]>`
    with old as (
      select ctid as place, ${tx(at)} as since, coalesce(octet_length(${tx(bytes)}), 0) as size from ${tx(table)}
      where ${tx(at)} <= ${before} order by ${tx(at)} limit ${mostRows}
    ), summed as (
      select place, ${bytesBefore(tx, tx`since`)} as bytes_before from old
    ), forgotten as (
      delete from ${tx(table)} where ctid = any(array(select place from summed where bytes_before < ${mostBytes})) returning 1
    )
    select (select count(*) from forgotten) = (select count(*) from old) and (select count(*) from old) < ${mostRows} as "isAll"`;
  return !row.isAll;
}
