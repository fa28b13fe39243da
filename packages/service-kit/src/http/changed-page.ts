import type { Page } from '@customer-platform/contracts/core';
import { settleChanges } from '../database/change-order.sql.ts';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { readPage, uuidCursor } from './pages.ts';

/** Position in a list by `updated_since`: an entry's id, and its time when it was listed, before any later change. */
interface ChangePosition {
  at: string;
  id: string;
}

/** Bounds of one page of a list by `updated_since`. */
export interface ChangePage {
  since: Date;
  /** End of the range: later changes have not settled yet. */
  until: string;
  after: ChangePosition | undefined;
  limit: number;
}

/** Returns the condition for a page's rows, which are ordered by `updated_at` and `id`. `table` is the alias of the rows. */
export const isChangeOf = (sql: Sql, table: string, { since, until, after }: ChangePage): Fragment => {
  const [at, id] = [sql(`${table}.updated_at`), sql(`${table}.id`)];
  return sql`${at} >= ${since} and ${at} <= ${until}::text::timestamptz
    ${after === undefined ? sql`` : sql`and (${at}, ${id}) > (${after.at}::text::timestamptz, ${after.id}::uuid)`}`;
};

/** Returns the expression for a row's position as a string, the `next` of its page. */
export const changePosition = (sql: Sql, table: string): Fragment => sql.unsafe(changePositionText(table));

/** Returns the same expression for a query that is a plain string. */
export const changePositionText = (table: string) =>
  `to_char(${table}.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || ${table}.id`;

/** Matches a position in its written form. */
const written = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_([\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12})$/;

/** Returns whether a written time exists. PostgreSQL rejects February 30, which Date reads as a day in March. */
function isTime(at: string): boolean {
  const ms = Date.parse(at);
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 19) === at.slice(0, 19);
}

/** Returns the position in a cursor, which may also be the id of a row. Undefined if the account has no such row. */
async function findChangePosition(
  sql: Sql,
  table: string,
  accountId: string,
  cursor: string,
): Promise<ChangePosition | undefined> {
  const [, at, id] = written.exec(cursor) ?? [];
  if (at !== undefined && id !== undefined) return isTime(at) ? { at, id } : undefined;
  const [row] = await sql<ChangePosition[]>`
    select updated_at::text as at, id from ${sql(table)} where account_id = ${accountId} and id = ${uuidCursor(cursor)}`;
  return row;
}

/**
 * Returns a page of the rows of `table` that changed since a time, oldest change first. `rows` selects the rows of `isChangeOf`, in its order,
 * each with its `changePosition` as `position`. A client that continues with `next`, and later with the last `updated_at`, misses no change.
 */
export async function readChanges<Row extends { position: string }, Item>(
  { sql, accountId, now, since }: { sql: Sql; accountId: string; now: Date; since: Date },
  query: { limit: number; starting_after?: string | undefined },
  list: {
    table: string;
    rows(page: ChangePage): Promise<readonly Row[]>;
    item(row: Row): Item;
    bytes(row: Row): number;
  },
): Promise<Page<Item>> {
  const { table, item, bytes } = list;
  const until = await settleChanges(sql, table, accountId, now);
  return await readPage(query, {
    position: (cursor) => findChangePosition(sql, table, accountId, cursor),
    rows: (after, limit) => list.rows({ since, until, after, limit }),
    item,
    bytes,
    cursor: 'position',
  });
}
