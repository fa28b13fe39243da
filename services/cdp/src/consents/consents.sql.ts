import type { Consent } from '@customer-platform/contracts/cdp';
import type { PageBounds, Sql } from '@customer-platform/service-kit';
import { markChanged } from '../contacts/changed-contacts.sql.ts';

export interface ConsentRow extends Omit<Consent, 'at' | 'created_at'> {
  at: Date;
  created_at: Date;
}

const columns = (sql: Sql) => sql`id, channel, purpose, state, source, at, created_at`;

/**
 * Records a consent. It takes effect unless a later one exists; of two at the same instant, the withdrawal takes effect. `at` must not be after
 * `created_at`. Clocks of processes differ: if the consent in effect is dated after `created_at`, it counts as given at `created_at`.
 */
export async function insertConsent(
  tx: Sql,
  accountId: string,
  contactId: string,
  { channel, purpose, state, source, at, created_at }: Omit<ConsentRow, 'id'>,
) {
  const [row] = await tx<ConsentRow[]>`
    with counted as (
      insert into consent_states as known (account_id, contact_id, channel, purpose, state, at)
      values (${accountId}, ${contactId}, ${channel}, ${purpose}, ${state}, ${at})
      on conflict (account_id, contact_id, channel, purpose) do update set state = excluded.state, at = excluded.at
        where excluded.at > least(known.at, ${created_at})
          or (excluded.at = least(known.at, ${created_at}) and excluded.state = 'withdrawn')
    ), marked as (${markChanged(tx, tx`select ${accountId}::uuid as account_id, ${contactId}::uuid as contact_id`)})
    insert into consents (account_id, contact_id, channel, purpose, state, source, at, created_at)
    values (${accountId}, ${contactId}, ${channel}, ${purpose}, ${state}, ${source}, ${at}, ${created_at})
    returning ${columns(tx)}`;
  return row!;
}

/** The consents on record for a channel and a purpose, compared with a statement that may be added. */
export interface Standing {
  /** The same statement is already on record. */
  is_known: boolean;
  /** The latest withdrawal without a later grant; null if there is none. */
  withdrawn_at: Date | null;
  /** The latest such withdrawal from the statement's source. */
  repeated_at: Date | null;
  /** Whether consent was ever granted. */
  was_granted: boolean | null;
  /** Whether all such withdrawals come from keywords. */
  is_by_keyword: boolean | null;
}

/** Returns the consents on record, compared with a statement of a contact. At the same instant, a withdrawal counts as later than a grant. */
export async function selectStanding(
  sql: Sql,
  accountId: string,
  contactId: string,
  { channel, purpose, state, source, at }: Omit<ConsentRow, 'id' | 'created_at'>,
): Promise<Standing> {
  const [row] = await sql<Standing[]>`
    with said as (
      select state, source, at, least(at, created_at) as said_at from consents
      where account_id = ${accountId} and contact_id = ${contactId} and channel = ${channel} and purpose = ${purpose}
    ), standing as (
      select *, state = 'withdrawn' and said_at >= coalesce(max(said_at) filter (where state = 'granted') over (), '-infinity') as stands
      from said
    )
    select coalesce(bool_or(state = ${state} and source = ${source} and at = ${at}), false) as is_known,
      max(said_at) filter (where stands) as withdrawn_at, max(said_at) filter (where stands and source = ${source}) as repeated_at,
      bool_or(state = 'granted') as was_granted, bool_and(source = 'keyword') filter (where stands) as is_by_keyword
    from standing`;
  return row!;
}

/** Returns whether the consent with this id belongs to the contact. */
export async function isConsentOf(sql: Sql, accountId: string, contactId: string, id: string): Promise<boolean> {
  const rows = await sql`
    select 1 from consents where account_id = ${accountId} and contact_id = ${contactId} and id = ${id}`;
  return rows.length > 0;
}

/** Lists the consents of a contact, newest first, after the consent `after`. */
export async function selectConsents(
  sql: Sql,
  accountId: string,
  contactId: string,
  { after, limit }: PageBounds<string>,
) {
  return await sql<ConsentRow[]>`
    select ${columns(sql)} from consents
    where account_id = ${accountId} and contact_id = ${contactId}
      ${after === undefined ? sql`` : sql`and id < ${after}`}
    order by id desc limit ${limit}`;
}
