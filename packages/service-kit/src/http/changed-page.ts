import type { Page } from '@customer-platform/contracts/core';
import { settleChanges } from '../database/change-order.sql.ts';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { readPage, uuidCursor } from './pages.ts';

/** Place in a list by `updated_since`: an entry as it was when it was listed, whatever became of it since. */
interface ChangePosition {
  at: string;
  id: string;
}

/** Part of a list by `updated_since`. */
export interface ChangePage {
  since: Date;
  /** What is later has not settled yet. */
  until: string;
  after: ChangePosition | undefined;
  limit: number;
}

/** Condition for the rows of a page; they are ordered by `updated_at` and `id`. `table` is the alias of the rows. */
export const isChangeOf = (sql: Sql, table: string, { since, until, after }: ChangePage): Fragment => {
  const [at, id] = [sql(`${table}.updated_at`), sql(`${table}.id`)];
  return sql`${at} >= ${since} and ${at} <= ${until}::text::timestamptz
    ${after === undefined ? sql`` : sql`and (${at}, ${id}) > (${after.at}::text::timestamptz, ${after.id}::uuid)`}`;
};

/** Expression for the position of a row, as text: the `next` of its page. */
export const changePosition = (sql: Sql, table: string): Fragment => sql.unsafe(changePositionText(table));

/** The same for a statement that is a text. */
export const changePositionText = (table: string) =>
  `to_char(${table}.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || ${table}.id`;

/** A position as it is written. */
const written = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_([\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12})$/;

/** Whether a time as it is written is one: PostgreSQL refuses February 30th, which Date takes for a day of March. */
function isTime(at: string): boolean {
  const ms = Date.parse(at);
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 19) === at.slice(0, 19);
}

/** Reads the position that a cursor is, or that of the row whose id it is; undefined where the account has none. */
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
 * Returns a page of the rows of `table` that changed since a time, the longest unchanged first. `rows` selects those of `isChangeOf`, in its order, each with
 * its `changePosition` as `position`. Whoever goes on with `next`, and later with the last `updated_at`, misses no change.
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
