import type { Sql } from '@customer-platform/service-kit';
import { oldestIdKept } from '../retention/retention.ts';
import { accountsOf, type DueQueue, endpointsOf, type QueueKey } from './dispatch.sql.ts';
import type { DueDelivery } from './outcome.ts';

/** An encrypted secret, valid until `until`. If `until` is null, it is valid until it is replaced. */
type StoredSecret = { stored: Uint8Array; until: Date | null };

/** A snapshot of a queue: its endpoint, its due deliveries, and when the next one is due. */
export type QueueState = DueQueue & {
  endpoint: {
    url: string;
    isActive: boolean;
    /** Paused by the customer. Pauses of operators are elsewhere. */
    isPaused: boolean;
    secrets: StoredSecret[];
    failingSince: Date | null;
  } | null;
  due: DueDelivery[];
  /** Number of due deliveries found, up to the limit. Exceeds `due.length` if some are too large or too old. */
  found: number;
  /** Some due deliveries are too old to be sent. */
  hasTooOld: boolean;
  /** Due time of the next delivery that is not due yet; null if there is none. */
  laterAt: Date | null;
};

/** A replaced secret, encrypted, in base64. It signs until `until`. */
export type PreviousSecret = { secret: string; until: string };

/** A queue with its endpoint and one of its due deliveries. Columns of a missing endpoint or delivery are null. */
type StateRow = DueQueue &
  Omit<DueDelivery, 'id'> & {
    id: string | null;
    url: string | null;
    isActive: boolean;
    isPaused: boolean;
    secret: Uint8Array;
    previousSecrets: PreviousSecret[];
    failingSince: Date | null;
    laterAt: Date | null;
    found: number | null;
    isTooOld: boolean | null;
  };

/** Approximate limit in bytes for envelopes per queue and read, since they wait in memory. */
export const maxReadBytes = 262_144;
/** The same limit for all queues of one read. */
const maxReadAtOnceBytes = 8_388_608;

/**
 * Reads queues with at most `limit` due deliveries and about 256 KiB each, fewer if the queues are many. Orders by due time, uses each account's
 * clock, and skips deliveries in flight. Deliveries with events older than `eventsKeptMs` set `hasTooOld`. They count toward `limit`, because
 * skipping millions would take too long. Selects deliveries before joining events: across partitions, the planner would otherwise sort all due rows.
 */
export async function readQueues(
  sql: Sql,
  wanted: (QueueKey & { limit: number; now: Date })[],
  { busyIds, eventsKeptMs }: { busyIds: string[]; eventsKeptMs: number },
): Promise<QueueState[]> {
  const most = Math.min(maxReadBytes, Math.floor(maxReadAtOnceBytes / wanted.length));
  const rows = await sql<StateRow[]>`
    select w.account_id as "accountId", w.endpoint_id as "endpointId", q.version, q.endpoint_version as "endpointVersion",
      e.url, e.active as "isActive", e.paused as "isPaused", e.secret, e.previous_secrets as "previousSecrets", e.failing_since as "failingSince",
      later.next_try_at as "laterAt", due.found, due.id, due.event_id as "eventId", due.run, due.step,
      due.is_manual as "isManual", due.envelope, due.sequence, due.trace, due.is_too_old as "isTooOld"
    from unnest(${accountsOf(wanted)}::uuid[], ${endpointsOf(wanted)}::uuid[], ${wanted.map((one) => one.limit)}::int[],
        ${wanted.map((one) => one.now.toISOString())}::text[]::timestamptz[])
      as w (account_id, endpoint_id, most, now)
    join queues q on q.account_id = w.account_id and q.endpoint_id = w.endpoint_id
    left join endpoints e on e.account_id = w.account_id and e.id = w.endpoint_id
    left join lateral (
      select d.next_try_at from deliveries d
      where d.account_id = w.account_id and d.endpoint_id = w.endpoint_id and d.status = 'pending' and d.next_try_at > w.now
      order by d.next_try_at limit 1
    ) as later on true
    left join lateral (
      select first.*, count(*) over ()::int as found,
        sum(first.bytes) over (order by first.next_try_at, first.id) - first.bytes as bytes_before
      from (
        select d.id, d.event_id, d.run, d.step, d.is_manual, v.envelope, v.sequence, v.trace, d.next_try_at,
          coalesce(octet_length(v.envelope), 0) as bytes, v.id is null or d.event_id < ${oldestIdKept(eventsKeptMs)} as is_too_old
        from (
          select * from deliveries
          where account_id = w.account_id and endpoint_id = w.endpoint_id and status = 'pending' and next_try_at <= w.now
            and id <> all(${busyIds}::uuid[])
          order by next_try_at, id limit w.most
        ) as d left join events v on v.account_id = d.account_id and v.id = d.event_id
      ) as first
    ) as due on due.bytes_before < ${most}
    order by w.account_id, w.endpoint_id, due.next_try_at, due.id`;
  const states: QueueState[] = [];
  for (const row of rows) {
    const last = states.at(-1);
    const state = last?.endpointId === row.endpointId && last.accountId === row.accountId ? last : newState(row);
    if (state !== last) states.push(state);
    if (row.isTooOld) state.hasTooOld = true;
    else if (row.id !== null) state.due.push(dueDelivery(row, row.id));
  }
  return states;
}

function newState(row: StateRow): QueueState {
  const { accountId, endpointId, version, endpointVersion, url, isActive, isPaused, failingSince, laterAt, found } =
    row;
  const endpoint = url === null ? null : { url, isActive, isPaused, secrets: secretsOf(row), failingSince };
  return {
    accountId,
    endpointId,
    version,
    endpointVersion,
    endpoint,
    due: [],
    found: found ?? 0,
    hasTooOld: false,
    laterAt,
  };
}

function secretsOf({ secret, previousSecrets }: StateRow): StoredSecret[] {
  const previous = previousSecrets.map((one) => {
    return { stored: Buffer.from(one.secret, 'base64'), until: new Date(one.until) };
  });
  return [{ stored: secret, until: null }, ...previous];
}

function dueDelivery(row: StateRow, id: string): DueDelivery {
  const { eventId, run, step, isManual, envelope, sequence, trace } = row;
  return { id, eventId, run, step, isManual, envelope, sequence, trace };
}
