import type { Audience, AudienceRules } from '@customer-platform/contracts/cdp';
import {
  brokenConstraint,
  countSerially,
  type Fragment,
  type Sql,
  withinPageBytes,
} from '@customer-platform/service-kit';
import { leavesOf } from './rules.ts';

export interface AudienceRow extends Omit<Audience, 'refreshed_at' | 'created_at' | 'updated_at'> {
  /** Increases with each change of the rules. */
  version: number;
  refreshed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** Fields of an audience that its computation changes. */
export type Computed = Pick<AudienceRow, 'status' | 'error' | 'members' | 'refreshed_at'>;

/** Values that the API client sets. */
type AudienceValues = Pick<AudienceRow, 'name' | 'description' | 'rules'>;

/** In the order of the response's fields. */
export const columns = (tx: Sql) =>
  tx`id, name, description, status, error, members, refreshed_at, created_at, updated_at, rules, version`;

function eventNames(rules: AudienceRules): string[] {
  return [...new Set(leavesOf(rules).flatMap((leaf) => (leaf.type === 'event' ? [leaf.name] : [])))];
}

/** Counts an account's audiences. Concurrent creations are serialized by a lock. */
export async function countAudiences(tx: Sql, accountId: string): Promise<number> {
  return await countSerially(tx, `audiences ${accountId}`, tx`audiences where account_id = ${accountId}`);
}

/** Inserts an audience that is due now. Returns undefined if another audience of the account has its name. */
export async function insertAudience(
  tx: Sql,
  accountId: string,
  { name, description, rules }: AudienceValues,
  now: Date,
) {
  const [row] = await tx<AudienceRow[]>`
    insert into audiences (account_id, name, description, rules, event_names, rules_at, status, due_at, building_since,
      created_at, updated_at)
    values (${accountId}, ${name}, ${description}, ${tx.json(rules)}, ${eventNames(rules)}::text[], ${now}, 'building',
      ${now}, ${now}, ${now}, ${now})
    on conflict (account_id, name) do nothing
    returning ${columns(tx)}`;
  return row;
}

/** Returns an audience, or undefined if the account has none with this id. With `lock`, the row is locked until the transaction ends. */
export async function selectAudience(tx: Sql, accountId: string, id: string, lock: 'lock' | 'read' = 'read') {
  const [row] = await tx<AudienceRow[]>`
    select ${columns(tx)} from audiences where account_id = ${accountId} and id = ${id}
    ${lock === 'lock' ? tx`for update` : tx``}`;
  return row;
}

/** Lists at most a page of audiences after `last`, newest first, with their sizes in bytes. */
export async function listAudienceRows(tx: Sql, accountId: string, last: string | undefined, limit: number) {
  const page: Fragment = tx`
    select ${columns(tx)}, octet_length(rules::text) + octet_length(description) as bytes from audiences
    where account_id = ${accountId} ${last === undefined ? tx`` : tx`and id < ${last}`}
    order by id desc limit ${limit}`;
  return await tx<(AudienceRow & { bytes: number })[]>`${withinPageBytes(tx, page, tx`id desc`)}`;
}

/**
 * Sets the values of an audience. New rules get a new version and make the audience due now. Returns undefined if another audience has the name; the
 * transaction is then aborted.
 */
export async function updateAudienceRow(
  tx: Sql,
  accountId: string,
  { id, name, description, rules }: Omit<AudienceValues, 'rules'> & { id: string; rules: AudienceRules | undefined },
  now: Date,
) {
  const rebuild = tx`
    , version = version + 1, rules_at = ${now}, status = 'building', error = '', building_since = ${now}, attempts = 0, due_at = ${due(tx, now)}`;
  try {
    const [row] = await tx<AudienceRow[]>`
      update audiences set name = ${name}, description = ${description}, updated_at = ${now}
        ${rules ? tx`, rules = ${tx.json(rules)}, event_names = ${eventNames(rules)}::text[] ${rebuild}` : tx``}
      where account_id = ${accountId} and id = ${id}
      returning ${columns(tx)}`;
    return row;
  } catch (error) {
    if (brokenConstraint(error) === 'audiences_account_id_name_key') return undefined;
    throw error;
  }
}

/** Requests a refresh of the whole audience. If a run is in progress, another follows it. */
export async function askForRefresh(tx: Sql, accountId: string, id: string, now: Date) {
  const [row] = await tx<AudienceRow[]>`
    update audiences set status = 'building', error = '', due_at = ${due(tx, now)},
      building_since = case when status = 'building' then building_since else ${now} end,
      attempts = case when status = 'building' then attempts else 0 end
    where account_id = ${accountId} and id = ${id}
    returning ${columns(tx)}`;
  return row!;
}

/** Selects the current time, moved by at most 1 ms so that it differs from the stored `due_at`. A run in progress thereby notices the new request. */
const due = (tx: Sql, now: Date) => tx`
  greatest(${now}::timestamptz, least(due_at, ${now}::timestamptz) + interval '1 millisecond')`;
