import { ApiError, maxIntegerId, type Page, uuid } from '@customer-platform/contracts/core';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { countWithin } from '../values/count-within.ts';

/** A list as its operation knows it: how it is read, continued and shown. */
interface List<Row, Item, Position> {
  /** Returns the position that a cursor names; undefined where the list has none such. */
  position(cursor: string): Promise<Position | undefined>;
  /** Returns at most `limit` rows after a position, those from the beginning where it is undefined. */
  rows(after: Position | undefined, limit: number): Promise<readonly Row[]>;
  item(row: Row): Item;
  /** Returns about how many bytes a row takes; `fewBytes` where a hundred of the largest rows take no more than 4 MiB. */
  bytes(row: Row): number;
  /** The column that is a row's cursor. */
  cursor: keyof Row;
}

/** Bounds of the rows that a list's statement returns: at most `limit`, after a position, or from the beginning. */
export interface PageBounds<Position> {
  after: Position | undefined;
  limit: number;
}

/** About how many bytes a page has: it ends sooner where its rows are large, so that no client makes a process hold very much. */
export const maxPageBytes = 2_097_152;

/**
 * Selects those rows of `page` that fit into a page by their column `bytes`, and the one after them, which says that there is more: the
 * others never leave the database. `page` is in this `order`, and has its limit. A row counts as a page at most: the one after a first
 * row that is larger is read too.
 */
export const withinPageBytes = (sql: Sql, page: Fragment | ReturnType<Sql>, order: Fragment): Fragment => sql`
  select * from (
    select *, sum(least(bytes, ${maxPageBytes}::integer))
      over (order by ${order} rows between unbounded preceding and 1 preceding) as bytes_before
    from (${page}) as page
  ) as page
  where coalesce(bytes_before, 0) <= ${maxPageBytes} order by ${order}`;

/** The `bytes` of a list whose rows are so small that its limit bounds a page. */
export const fewBytes = () => 0;

/**
 * Returns the page of a list that a query asks for: `limit` rows, or fewer where they have more than about 2 MiB. Reads one row more than
 * it shows, which says that there is more. Throws
 * invalid_request, field starting_after, for a cursor that the list does not have.
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

/** Returns the `position` of a list whose positions are UUIDs; `isKnown` says whether the list has one. */
export const uuidPosition = (isKnown: (id: string) => unknown) => idPosition(uuidCursor, isKnown);

/** Returns the `position` of a list whose positions are integers; `isKnown` says whether the list has one. */
export const integerPosition = (isKnown: (id: number) => unknown) => idPosition(integerCursor, isKnown);

function idPosition<Id>(parse: (cursor: string) => Id, isKnown: (id: Id) => unknown) {
  return async (cursor: string): Promise<Id | undefined> => {
    const id = parse(cursor);
    return (await isKnown(id)) ? id : undefined;
  };
}

/** The UUID that a cursor is. Throws the refusal of a bad cursor where it is none. */
export function uuidCursor(cursor: string): string {
  const parsed = uuid.safeParse(cursor);
  if (!parsed.success) throw badCursor();
  return parsed.data;
}

/** The integer id that a cursor is. Throws the refusal of a bad cursor where it is none. */
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
