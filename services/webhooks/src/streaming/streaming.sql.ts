import type { Sql } from '@customer-platform/service-kit';
import { firstOf } from '../deliveries/deliveries.sql.ts';

/** Most events that one read looks at for a stream, and about how many bytes it brings of them. */
const maxLookedAt = 200;
const maxBytes = 65_536;

/** Place of a stream in its account's events, and which of them it shows. */
export interface Position {
  accountId: string;
  /** The number of the last event that it had. */
  after: number;
  /** Kinds, families such as `order.*`, or `*`: each once, in one order, so that streams that show the same share a position. */
  types: readonly string[];
}

/** An event after a position; `envelope` is null where the stream does not show it. */
export interface StreamedRow {
  sequence: number;
  type: string;
  envelope: string | null;
}

/** Events after a position, in the order of their numbers, and whether there are more. */
export interface ReadPage {
  rows: StreamedRow[];
  hasMore: boolean;
}

/**
 * Reads what follows each position and is not older than `oldest`: of each at most 200 events and about 64 KiB, but one at least. The
 * kinds are no condition: however rare they are, a read looks at no more than that.
 */
export async function readPages(sql: Sql, positions: readonly Position[], oldest: Date): Promise<ReadPage[]> {
  const places = positions.map(({ accountId, after, types }, place) => ({
    place,
    account_id: accountId,
    after,
    types,
  }));
  const rows = await sql<(StreamedRow & { place: number; found: number })[]>`
    select p.place, e.sequence, e.type, e.envelope, e.found
    from jsonb_to_recordset(${sql.json(places)}) as p (place integer, account_id uuid, after bigint, types text[])
    cross join lateral (
      select *, count(*) over ()::int as found, sum(coalesce(octet_length(envelope), 0))
        over (order by sequence rows between unbounded preceding and 1 preceding) as bytes_before
      from (
        select sequence, type, case when p.types && array[type, split_part(type, '.', 1) || '.*', '*']
          then envelope end as envelope
        from events where account_id = p.account_id and sequence > p.after and taken_at > ${oldest}
        order by sequence limit ${firstOf(sql, maxLookedAt)}
      ) as looked_at
    ) as e
    where coalesce(e.bytes_before, 0) < ${maxBytes}::integer order by p.place, e.sequence`;
  const byPlace = Map.groupBy(rows, ({ place }) => place);
  return positions.map((_, index) => {
    const found = byPlace.get(index) ?? [];
    const hasMore = found.length > 0 && (found.length === maxLookedAt || found.length < found[0]!.found);
    return { rows: found, hasMore };
  });
}

/** Returns the numbers of the last events of accounts, of those that have any. */
export async function lastSequences(sql: Sql, accountIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql<{ account_id: string; last: number }[]>`
    select account_id, last from event_counters where account_id = any(${[...accountIds]}::uuid[])`;
  return new Map(rows.map(({ account_id, last }) => [account_id, last]));
}
