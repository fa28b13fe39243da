import { changeTime, type Sql } from '@customer-platform/service-kit';
import { markChanged } from '../contacts/changed-contacts.sql.ts';
import type { GivenValues } from './given-values.ts';

/** The recorded merge of a pair. `later` is the pair of the last later merge that involves one of its contacts. */
export interface MergeRow {
  id: number;
  survivor_id: string;
  merged_id: string;
  given: GivenValues;
  merged_at: Date;
  later: number | null;
}

/** Returns the merge of a pair; undefined if it was never recorded or its record has been deleted. */
export async function selectMerge(tx: Sql, accountId: string, duplicateId: number) {
  const [row] = await tx<MergeRow[]>`
    select m.id, m.survivor_id, m.merged_id, m.given, m.merged_at, (
      select l.duplicate_id from merges l
      where l.account_id = m.account_id and l.id > m.id
        and (l.survivor_id in (m.survivor_id, m.merged_id) or l.merged_id in (m.survivor_id, m.merged_id))
      order by l.id desc limit 1) as later
    from merges m where m.account_id = ${accountId} and m.duplicate_id = ${duplicateId}`;
  return row;
}

interface Undo {
  accountId: string;
  mergeId: number;
  survivorId: string;
  restoredId: string;
  now: Date;
}

/**
 * Moves data back to the restored contact: consents, events, pairs, and the contacts merged into it earlier. Data added since the merge stays with
 * the survivor. Audiences re-evaluate both contacts. The caller must hold `lockIdentities` and have decided the pair.
 */
export async function moveBack(tx: Sql, undo: Undo) {
  const { accountId, survivorId, restoredId, now } = undo;
  const ids = await idsMergedInto(tx, accountId, restoredId);
  const returned = tx`
    contact_id = ${restoredId}, original_contact_id = nullif(original_contact_id, ${restoredId})
    where account_id = ${accountId} and contact_id = ${survivorId} and original_contact_id = any(${ids}::uuid[])`;
  const statements = [
    tx`
      with marked as (${markChanged(
        tx,
        tx`select ${accountId}::uuid as account_id, unnest(array[${survivorId}, ${restoredId}]::uuid[]) as contact_id`,
      )})
      update contacts set merged_into = nullif(${restoredId}::uuid, id),
        direct_survivor = case when id <> ${restoredId} then direct_survivor end,
        merged_at = case when id <> ${restoredId} then merged_at end,
        updated_at = case when id = ${restoredId} then ${changeTime(tx, accountId, now)} else updated_at end
      where account_id = ${accountId} and id = any(${ids}::uuid[])`,
    tx`update contact_events set ${returned}`,
    tx`update consents set ${returned}`,
    tx`delete from consents where account_id = ${accountId} and contact_id = ${survivorId} and merge_of = ${restoredId}`,
    separateConsentStates(tx, undo),
    returnPairs(tx, undo),
    tx`delete from merges where account_id = ${accountId} and id = ${undo.mergeId}`,
  ];
  await Promise.all(statements.map((statement) => statement.execute()));
}

/** Returns the ids of a contact and of all contacts merged into it, directly or indirectly. */
async function idsMergedInto(tx: Sql, accountId: string, id: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    with recursive below (id) as (
      select ${id}::uuid
      union
      -- offset 0 forces an index lookup at each level instead of a table scan.
      select c.id from below cross join lateral (
        select id from contacts c where c.account_id = ${accountId} and c.merged_into is not null
          and coalesce(c.direct_survivor, c.merged_into) = below.id offset 0) as c
    )
    select id from below`;
  return rows.map((row) => row.id);
}

/** Recomputes the consents in effect of both contacts for the restored one's purposes: the latest, or a simultaneous withdrawal. */
const separateConsentStates = (tx: Sql, { accountId, survivorId, restoredId }: Undo) => tx`
  with touched as (
    select distinct channel, purpose from consents where account_id = ${accountId} and contact_id = ${restoredId}
  ), latest as (
    select distinct on (contact_id, channel, purpose)
      contact_id, channel, purpose, state, least(at, created_at) as at
    from consents join touched using (channel, purpose)
    where account_id = ${accountId} and contact_id in (${survivorId}, ${restoredId})
    order by contact_id, channel, purpose, least(at, created_at) desc, state = 'withdrawn' desc
  ), over as (
    delete from consent_states s using touched t
    where s.account_id = ${accountId} and s.contact_id = ${survivorId} and s.channel = t.channel and s.purpose = t.purpose
      and not exists (select from latest l where l.contact_id = s.contact_id and l.channel = s.channel and l.purpose = s.purpose)
  )
  insert into consent_states (account_id, contact_id, channel, purpose, state, at)
  select ${accountId}, contact_id, channel, purpose, state, at from latest
  on conflict (account_id, contact_id, channel, purpose) do update set state = excluded.state, at = excluded.at`;

/**
 * Restores the pairs of the restored contact, with decisions made since. A pair that was merged since, or whose other contact is deleted, stays as it
 * is. If the other contact was merged, its survivor takes its place.
 */
const returnPairs = (tx: Sql, { accountId, mergeId, survivorId, restoredId }: Undo) => tx`
  with kept as (
    delete from merge_pairs where account_id = ${accountId} and merge_id = ${mergeId} returning *
  ), returning_pairs as (
    select distinct on (other.id) kept.id, least(other.id, ${restoredId}::uuid) as older_id,
      greatest(other.id, ${restoredId}::uuid) as newer_id, kept.reason, kept.detail, kept.score, kept.status, d.id is not null as is_there,
      d.id is null or d.status <> 'merged' and ${survivorId} in (d.older_id, d.newer_id) as can_return
    from kept
    join contacts c on c.account_id = ${accountId}
      and c.id = case when kept.older_id = ${restoredId} then kept.newer_id else kept.older_id end
    cross join lateral (select coalesce(c.merged_into, c.id) as id) as other
    left join duplicates d on d.account_id = ${accountId} and d.id = kept.id
    where other.id not in (${survivorId}, ${restoredId}) and not exists (
      select from duplicates known where known.account_id = ${accountId}
        and known.older_id = least(other.id, ${restoredId}::uuid) and known.newer_id = greatest(other.id, ${restoredId}::uuid))
    order by other.id, d.id nulls last
  ), moved as (
    update duplicates d set older_id = r.older_id, newer_id = r.newer_id
    from returning_pairs r where d.account_id = ${accountId} and d.id = r.id and r.can_return
  )
  insert into duplicates (account_id, id, older_id, newer_id, reason, detail, score, status) overriding system value
  select ${accountId}, id, older_id, newer_id, reason, detail, score, status from returning_pairs where not is_there`;

/** Deletes at most `limit` recorded pairs of merges made before `before`; returns their number. */
export async function deleteMergePairs(tx: Sql, before: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from merge_pairs where (account_id, merge_id, id) in (
      select p.account_id, p.merge_id, p.id
      from (select * from merges where merged_at < ${before} order by merged_at limit ${limit}) as m
      join merge_pairs p on p.account_id = m.account_id and p.merge_id = m.id
      limit ${limit})`;
  return result.count;
}

/** Deletes at most `limit` merges made before `before` without remaining recorded pairs; returns their number. */
export async function deleteMerges(tx: Sql, before: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from merges where (account_id, id) in (
      select account_id, id from merges m
      where merged_at < ${before} and not exists (
        select from merge_pairs p where p.account_id = m.account_id and p.merge_id = m.id)
      order by merged_at limit ${limit} for update skip locked)`;
  return result.count;
}
