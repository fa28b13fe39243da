import type { Sql } from '@customer-platform/service-kit';
import { firstOf } from '../deliveries/deliveries.sql.ts';

/** Maximum number of events one read examines per stream, and its approximate limit in bytes. */
const maxLookedAt = 200;
const maxBytes = 65_536;

/** The position and filter of a stream. */
export interface Position {
  accountId: string;
  /** The number of the last event that the stream received. */
  after: number;
  /** Event types, families such as `order.*`, or `*`. Unique and sorted, so that streams with equal filters share a position. */
  types: readonly string[];
}

/** An event after a position. `envelope` is null if the stream's filter excludes it. */
export interface StreamedRow {
  sequence: number;
  type: string;
  envelope: string | null;
}

/** Events after a position in ascending order, and whether more follow. */
export interface ReadPage {
  rows: StreamedRow[];
  hasMore: boolean;
}

/**
 * Reads the events after each position that were recorded after `oldest`. Returns at most 200 and about 64 KiB per
 * position, but at least one. Events that the filter excludes are read too, with a null envelope, so a rare type does not make a read scan
 * further.
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

/** Returns the last event number of each account that has events. */
export async function lastSequences(sql: Sql, accountIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql<{ account_id: string; last: number }[]>`
    select account_id, last from event_counters where account_id = any(${[...accountIds]}::uuid[])`;
  return new Map(rows.map(({ account_id, last }) => [account_id, last]));
}
