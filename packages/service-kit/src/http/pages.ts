import { ApiError, maxIntegerId, type Page, uuid } from '@customer-platform/contracts/core';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { countWithin } from '../values/count-within.ts';

/** How an operation reads, continues and shows its list. */
interface List<Row, Item, Position> {
  /** Returns the position that a cursor names; undefined if the list has no such position. */
  position(cursor: string): Promise<Position | undefined>;
  /** Returns at most `limit` rows after a position, or from the beginning if undefined. */
  rows(after: Position | undefined, limit: number): Promise<readonly Row[]>;
  item(row: Row): Item;
  /** Returns the approximate bytes of a row. Use `fewBytes` if a hundred of the largest rows take at most 4 MiB. */
  bytes(row: Row): number;
  /** The column used as a row's cursor. */
  cursor: keyof Row;
}

/** Bounds of a list's query: at most `limit` rows, after a position or from the beginning. */
export interface PageBounds<Position> {
  after: Position | undefined;
  limit: number;
}

/** Approximate limit of a page in bytes. A page of large rows ends early, so that no client makes a process hold too much. */
export const maxPageBytes = 2_097_152;

/**
 * Selects the rows of `page` that fit into one page by their column `bytes`, and the next row. That row shows that more follow. The rest never
 * leaves the database. `page` has this `order` and its own limit. A row counts as at most one full page, so the row after an oversized first row is
 * read too.
 */
export const withinPageBytes = (sql: Sql, page: Fragment | ReturnType<Sql>, order: Fragment): Fragment => sql`
  select * from (
    select *, sum(least(bytes, ${maxPageBytes}::integer))
      over (order by ${order} rows between unbounded preceding and 1 preceding) as bytes_before
    from (${page}) as page
  ) as page
  where coalesce(bytes_before, 0) <= ${maxPageBytes} order by ${order}`;

/** The `bytes` of a list with rows so small that `limit` alone bounds a page. */
export const fewBytes = () => 0;

/**
 * Returns the page of a list that a query asks for. It has `limit` rows, or fewer if they exceed about 2 MiB. Reads one row more, to know
 * whether more follow. Throws invalid_request, field starting_after, for a cursor that the list does not have.
 */
export async function readPage<Row, Item, Position>(
  { limit, starting_after: cursor }: { limit: number; starting_after?: string | undefined },
  list: List<Row, Item, Position>,
): Promise<Page<Item>> {
  const after = cursor === undefined ? undefined : await list.position(cursor);
  if (cursor !== undefined && after === undefined) throw badCursor();
  const rows = await list.rows(after, limit + 1);
  const sizes = rows.map((row) => list.bytes(row));
  const shown = rows.slice(0, countWithin(sizes, { items: limit, bytes: maxPageBytes }));
  const hasMore = rows.length > shown.length;
  return {
    data: shown.map((row) => list.item(row)),
    has_more: hasMore,
    next: hasMore ? String(shown.at(-1)![list.cursor]) : null,
  };
}

/** Returns the `position` function of a list with UUID positions. `isKnown` returns whether the list has a position. */
export const uuidPosition = (isKnown: (id: string) => unknown) => idPosition(uuidCursor, isKnown);

/** Returns the `position` function of a list with integer positions. `isKnown` returns whether the list has a position. */
export const integerPosition = (isKnown: (id: number) => unknown) => idPosition(integerCursor, isKnown);

function idPosition<Id>(parse: (cursor: string) => Id, isKnown: (id: Id) => unknown) {
  return async (cursor: string): Promise<Id | undefined> => {
    const id = parse(cursor);
    return (await isKnown(id)) ? id : undefined;
  };
}

/** Returns the UUID in a cursor. Throws invalid_request, field starting_after, if the cursor is not a UUID. */
export function uuidCursor(cursor: string): string {
  const parsed = uuid.safeParse(cursor);
  if (!parsed.success) throw badCursor();
  return parsed.data;
}

/** Returns the integer id in a cursor. Throws invalid_request, field starting_after, if the cursor is not an id. */
export function integerCursor(cursor: string): number {
  const id = /^[1-9]\d{0,9}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (!(id <= maxIntegerId)) throw badCursor();
  return id;
}

function badCursor(): ApiError {
  return new ApiError('invalid_request', 'starting_after must be the next value of a previous page of this list', {
    field: 'starting_after',
  });
}
