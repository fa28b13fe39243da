import type { JsonValue, Sql } from '@customer-platform/service-kit';
import { type ContactRow, columns } from '../contacts/contacts.sql.ts';
import { keepLeavers } from '../leavers/leavers.sql.ts';
import { audienceIds, dropReevaluations, lockAudiences } from '../leavers/lock-audiences.sql.ts';
import type { GivenValues } from './given-values.ts';

/** A merge of one contact into another, with the values that it gives the survivor. */
interface Merge {
  accountId: string;
  duplicateId: number;
  mergedId: string;
  survivorId: string;
  given: GivenValues;
  now: Date;
}

/** Returns contacts, locked in id order until the transaction ends. */
export async function lockContacts(tx: Sql, accountId: string, ids: readonly string[]) {
  return await tx<ContactRow[]>`
    select ${columns(tx)} from contacts where account_id = ${accountId} and id = any(${ids}::uuid[])
    order by id for update`;
}

/** Most rows of each kind that a merge may move. */
interface Moved {
  events: number;
  consents: number;
  /** Contacts that were merged into the merged contact earlier. The copies in every service are updated for each. */
  merged: number;
  /** Other pairs of the merged contact. The merge records them, so that it can be undone. */
  pairs: number;
}

/** Returns whether at least `count` contacts were merged into these. */
export async function hasMerged(tx: Sql, accountId: string, ids: readonly string[], count: number): Promise<boolean> {
  const rows = await tx`
    select from contacts where account_id = ${accountId} and merged_into = any(${[...ids]}::uuid[])
    offset ${count - 1} limit 1`;
  return rows.length > 0;
}

/** Returns whether a merge of the contact would move more than `most`. */
export async function hasMoreToMove(tx: Sql, accountId: string, id: string, most: Moved): Promise<boolean> {
  const [row] = await tx<[{ has_more: boolean }]>`
    select exists (select from contact_events where account_id = ${accountId} and contact_id = ${id} offset ${most.events})
      or exists (select from consents where account_id = ${accountId} and contact_id = ${id} offset ${most.consents})
      or exists (select from contacts where account_id = ${accountId} and merged_into = ${id} offset ${most.merged})
      or exists (
        select from duplicates where account_id = ${accountId} and older_id = ${id} and status <> 'merged'
        union all
        select from duplicates where account_id = ${accountId} and newer_id = ${id} and status <> 'merged'
        offset ${most.pairs + 1}) as has_more`;
  return row.has_more;
}

/** An audience that the merged contact was a member of. */
interface LeftAudience {
  id: string;
  name: string;
  /** The survivor was not a member. */
  isNew: boolean;
}

/**
 * Moves all data of the merged contact to the survivor: consents, events, memberships, pairs, and contacts merged into it earlier. Records the
 * original owner of each. Returns the audiences that the merged contact left. Throws a lock timeout if an audience stays locked. The caller must hold
 * `lockIdentities` and have decided the pair.
 *
 * Locks all audiences of the account, since a running refresh may be about to add the merged contact to any of them. They are locked first, so a
 * failed merge has moved nothing. Tables that refreshes lock as well come next, before statements that may take seconds.
 */
export async function moveToSurvivor(tx: Sql, merge: Merge): Promise<LeftAudience[]> {
  const { accountId, mergedId, survivorId, now } = merge;
  const moved = tx`
    contact_id = ${survivorId}, original_contact_id = coalesce(original_contact_id, contact_id)
    where account_id = ${accountId} and contact_id = ${mergedId}`;
  await lockAudiences(tx, accountId, tx``);
  const memberships = moveMemberships(tx, merge);
  const statements = [
    dropReevaluations(tx, accountId, mergedId),
    memberships,
    tx`
      update contacts set merged_into = ${survivorId}, direct_survivor = coalesce(direct_survivor, merged_into, ${survivorId}),
        merged_at = case when id = ${mergedId} then ${now} else merged_at end
      where account_id = ${accountId} and (id = ${mergedId} or merged_into = ${mergedId})`,
    tx`update consents set ${moved}`,
    uniteConsentStates(tx, merge),
    tx`update contact_events set ${moved}`,
    movePairs(tx, merge),
  ];
  await Promise.all(statements.map((statement) => statement.execute()));
  return await memberships;
}

/**
 * Merges consent states: a withdrawal of either contact wins, whenever it was made. If a grant is later, the merge itself is recorded as a
 * withdrawal, so that the latest recorded consent still takes effect.
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
    insert into consents (account_id, contact_id, channel, purpose, state, source, at, created_at, merge_of)
    select ${accountId}, ${survivorId}, channel, purpose, 'withdrawn', 'merge', at, ${now}, ${mergedId} from overruled
  )
  insert into consent_states as known (account_id, contact_id, channel, purpose, state, at)
  select m.account_id, ${survivorId}, m.channel, m.purpose, m.state, coalesce(o.at, m.at)
  from moved m left join overruled o on o.channel = m.channel and o.purpose = m.purpose
  on conflict (account_id, contact_id, channel, purpose) do update set
    state = case when 'withdrawn' in (known.state, excluded.state) then 'withdrawn' else 'granted' end,
    at = greatest(known.at, excluded.at)`;

/**
 * Moves memberships. A survivor that is already a member keeps its entry time, and the member count decreases by one. The merged contact's position
 * is kept for cursors, since the survivor's may differ.
 */
const moveMemberships = (tx: Sql, { accountId, mergedId, survivorId, now }: Merge) => tx<LeftAudience[]>`
  with held as (
    delete from audience_members
    where account_id = ${accountId} and contact_id = ${mergedId} and audience_id in (${audienceIds(tx, accountId)})
    returning *
  ), kept as (${keepLeavers(tx, tx`select * from held`, now)}), moved as (
    insert into audience_members (account_id, audience_id, contact_id, entered_at)
    select ${accountId}, audience_id, ${survivorId}, entered_at from held
    on conflict do nothing returning audience_id
  ), counted as (
    update audiences set members = members - 1
    where account_id = ${accountId} and id in (select audience_id from held except select audience_id from moved)
  )
  select a.id, a.name, a.id in (select audience_id from moved) as "isNew"
  from held join audiences a on a.account_id = ${accountId} and a.id = held.audience_id order by a.id`;

/**
 * Records the merge with the merged contact's other pairs, and moves those pairs to the survivor. If the survivor has a pair with the same contact,
 * its own stays.
 */
const movePairs = (tx: Sql, { accountId, duplicateId, mergedId, survivorId, given, now }: Merge) => {
  // Avoids joins: without statistics of the account, PostgreSQL joins 5,000 pairs with 5,000 slower than the statement timeout.
  const ofMerged = tx`d.account_id = ${accountId} and d.status <> 'merged' and (d.older_id = ${mergedId} or d.newer_id = ${mergedId})`;
  const other = tx`case when d.older_id = ${mergedId} then d.newer_id else d.older_id end`;
  const older = tx`least(${other}, ${survivorId}::uuid)`;
  const newer = tx`greatest(${other}, ${survivorId}::uuid)`;
  // `is true` keeps this condition from becoming a join: the survivor's pairs are read once, into a hash table.
  const isKnown = tx`(${other} in (
    select case when k.older_id = ${survivorId} then k.newer_id else k.older_id end from duplicates k
    where k.account_id = ${accountId} and (k.older_id = ${survivorId} or k.newer_id = ${survivorId})) is true)`;
  return tx`
    with merge as (
      insert into merges (account_id, duplicate_id, survivor_id, merged_id, given, merged_at)
      values (${accountId}, ${duplicateId}, ${survivorId}, ${mergedId}, ${tx.json(given as unknown as JsonValue)}, ${now}) returning id
    ), kept as (
      insert into merge_pairs (account_id, merge_id, id, older_id, newer_id, reason, detail, score, status)
      select d.account_id, merge.id, d.id, d.older_id, d.newer_id, d.reason, d.detail, d.score, d.status
      from merge, duplicates d where ${ofMerged}
    ), removed as (
      delete from duplicates d where ${ofMerged} and ${isKnown}
    )
    update duplicates d set older_id = ${older}, newer_id = ${newer} where ${ofMerged} and not ${isKnown}`;
};
