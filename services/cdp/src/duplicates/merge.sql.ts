import type { Sql } from '@customer-platform/service-kit';
import { type ContactRow, columns } from '../contacts/contacts.sql.ts';
import { keepLeavers } from '../leavers/leavers.sql.ts';

/** A merge of one contact into another. */
interface Merge {
  accountId: string;
  mergedId: string;
  survivorId: string;
  now: Date;
}

/** Returns contacts, locked in id order until the transaction ends. */
export async function lockContacts(tx: Sql, accountId: string, ids: readonly string[]) {
  return await tx<ContactRow[]>`
    select ${columns(tx)} from contacts where account_id = ${accountId} and id = any(${ids}::uuid[])
    order by id for update`;
}

/**
 * Moves everything of the merged contact to the survivor: consents, events, memberships, its pairs, and the contacts
 * that were merged into it before. Call it under `lockIdentities`, with their own pair decided.
 */
export async function moveToSurvivor(tx: Sql, merge: Merge) {
  const { accountId, mergedId, survivorId } = merge;
  const statements = [
    tx`
      update contacts set merged_into = ${survivorId}
      where account_id = ${accountId} and (id = ${mergedId} or merged_into = ${mergedId})`,
    tx`update consents set contact_id = ${survivorId} where account_id = ${accountId} and contact_id = ${mergedId}`,
    uniteConsentStates(tx, merge),
    tx`update contact_events set contact_id = ${survivorId} where account_id = ${accountId} and contact_id = ${mergedId}`,
    lockAudiences(tx, accountId),
    moveMemberships(tx, merge),
    tx`delete from audience_flips where account_id = ${accountId} and contact_id = ${mergedId}`,
    movePairs(tx, merge),
  ];
  await Promise.all(statements.map((statement) => statement.execute()));
}

/**
 * Merges consent states: a withdrawal of either counts, whenever it was made. If a grant was made later, the merge
 * itself is recorded as a withdrawal, so that the latest recorded consent is still the one that counts.
 */
const uniteConsentStates = (tx: Sql, { accountId, mergedId, survivorId, now }: Merge) => tx`
  with moved as (
    delete from consent_states where account_id = ${accountId} and contact_id = ${mergedId} returning *
  ), overruled as (
    select m.channel, m.purpose, greatest(m.at, k.at, ${now}) as at
    from moved m join consent_states k on k.account_id = m.account_id and k.contact_id = ${survivorId}
      and k.channel = m.channel and k.purpose = m.purpose
    where m.state <> k.state and case when m.state = 'granted' then m.at > k.at else k.at > m.at end
  ), recorded as (
    insert into consents (account_id, contact_id, channel, purpose, state, source, at, created_at)
    select ${accountId}, ${survivorId}, channel, purpose, 'withdrawn', 'merge', at, ${now} from overruled
  )
  insert into consent_states as known (account_id, contact_id, channel, purpose, state, at)
  select m.account_id, ${survivorId}, m.channel, m.purpose, m.state, coalesce(o.at, m.at)
  from moved m left join overruled o on o.channel = m.channel and o.purpose = m.purpose
  on conflict (account_id, contact_id, channel, purpose) do update set
    state = case when 'withdrawn' in (known.state, excluded.state) then 'withdrawn' else 'granted' end,
    at = greatest(known.at, excluded.at)`;

/** Locks audiences in id order, before any change of their members, like everything that changes members. */
const lockAudiences = (tx: Sql, accountId: string) => tx`
  select 1 from audiences where account_id = ${accountId} order by id for no key update`;

/**
 * Moves memberships. A survivor that is a member already keeps its entry time, and the audience has one member less.
 * The merged contact's own position is kept for cursors: the survivor's may differ.
 */
const moveMemberships = (tx: Sql, { accountId, mergedId, survivorId, now }: Merge) => tx`
  with held as (
    delete from audience_members where account_id = ${accountId} and contact_id = ${mergedId}
    returning *
  ), kept as (${keepLeavers(tx, tx`select * from held`, now)}), moved as (
    insert into audience_members (account_id, audience_id, contact_id, entered_at)
    select ${accountId}, audience_id, ${survivorId}, entered_at from held
    on conflict do nothing returning audience_id
  )
  update audiences set members = members - 1
  where account_id = ${accountId} and id in (select audience_id from held except select audience_id from moved)`;

/** Moves the merged contact's other pairs to the survivor; of two about the same contacts the survivor's own stays. */
const movePairs = (tx: Sql, { accountId, mergedId, survivorId }: Merge) => tx`
  with moving as (
    select d.id, least(other.id, ${survivorId}::uuid) as older_id, greatest(other.id, ${survivorId}::uuid) as newer_id,
      exists (select from duplicates known where known.account_id = ${accountId}
        and known.older_id = least(other.id, ${survivorId}::uuid)
        and known.newer_id = greatest(other.id, ${survivorId}::uuid)) as is_known
    from duplicates d
    cross join lateral (select case when d.older_id = ${mergedId} then d.newer_id else d.older_id end as id) as other
    where d.account_id = ${accountId} and d.status <> 'merged' and (d.older_id = ${mergedId} or d.newer_id = ${mergedId})
  ), removed as (
    delete from duplicates where account_id = ${accountId} and id in (select id from moving where is_known)
  )
  update duplicates d set older_id = moving.older_id, newer_id = moving.newer_id
  from moving where d.account_id = ${accountId} and d.id = moving.id and not moving.is_known`;
