import { contactColumns, idsOfContact, joinContact } from '@customer-platform/contact-copy';
import type { Deal, DealStatus } from '@customer-platform/contracts/crm';
import {
  type ChangePage,
  changePosition,
  changeTime,
  type Fragment,
  isChangeOf,
  type PageBounds,
  readUnderLock,
  type Sql,
} from '@customer-platform/service-kit';
import type { StageRef } from '../pipelines/pipelines.sql.ts';

/** A deal with its stage, pipeline and contact (the surviving contact if merged). The contact's columns are null if it has none. */
export interface DealRow
  extends StageRef,
    Pick<Deal, 'id' | 'title' | 'status' | 'value_minor' | 'currency' | 'notes'> {
  /** Sequential within the account, from 1. */
  number: number;
  contact_id: string | null;
  /** Contact that the deal was assigned, even if merged since. It stays stored, so the deal follows it if the merge is undone. */
  own_contact_id: string | null;
  contact_name: string | null;
  contact_phone: string | null;
  stage_entered_at: Date;
  closed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const columns = (tx: Sql) => tx`
  d.id, d.number, d.title, d.pipeline_id, p.name as pipeline_name, d.stage_id, s.name as stage_name, d.status, d.value_minor,
  d.currency, d.notes, d.stage_entered_at, d.closed_at, d.created_at, d.updated_at, d.contact_id as own_contact_id,
  ${contactColumns(tx)}`;

const joins = (tx: Sql) => tx`
  join pipelines p on p.account_id = d.account_id and p.id = d.pipeline_id
  join stages s on s.account_id = d.account_id and s.id = d.stage_id
  ${joinContact(tx, 'd')}`;

/** Returns a deal, or undefined if the account has no deal with this id. */
export async function selectDeal(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<DealRow[]>`
    select ${columns(tx)} from deals d ${joins(tx)} where d.account_id = ${accountId} and d.id = ${id}`;
  return row;
}

/** Locks the deal for update, then reads it. Returns undefined if the account has no deal with this id. */
export async function lockDeal(tx: Sql, accountId: string, id: string) {
  const lock = tx`select 1 from deals where account_id = ${accountId} and id = ${id} for update`;
  return await readUnderLock(lock, () => selectDeal(tx, accountId, id));
}

/** Filters of a list. A stage implies its pipeline. */
export interface DealFilter {
  scope?: { pipelineId: number } | { stageId: number } | undefined;
  status?: DealStatus | undefined;
  /** A surviving contact. Deals of contacts merged into it match too. */
  contactId?: string | undefined;
}

const isIn = (tx: Sql, { scope, status }: DealFilter) => tx`
  ${scope && 'pipelineId' in scope ? tx`and d.pipeline_id = ${scope.pipelineId}` : tx``}
  ${scope && 'stageId' in scope ? tx`and d.stage_id = ${scope.stageId}` : tx``}
  ${status ? tx`and d.status = ${status}` : tx``}`;

/**
 * Returns deals after the deal `after`, newest first. The limit applies before the joins, or PostgreSQL may join every row first.
 * For a contact, the limit also applies to each of its ids, through the index that begins with the contact. So with any other filter,
 * the query reads only the contact's own deals.
 */
export async function listDealRows(
  tx: Sql,
  accountId: string,
  filter: DealFilter,
  { after, limit }: PageBounds<string>,
) {
  const { contactId } = filter;
  const page = (further: Fragment) => tx`
    select * from deals d
    where d.account_id = ${accountId} ${further} ${isIn(tx, filter)}
    ${after ? tx`and d.id < ${after}` : tx``}
    order by d.id desc limit ${limit}`;
  const pageOfContact = (id: string) => tx`
    select d.* from (${idsOfContact(tx, accountId, id)}) as named
    cross join lateral (${page(tx`and d.contact_id = named.id`)}) as d
    order by d.id desc limit ${limit}`;
  return await tx<DealRow[]>`
    select ${columns(tx)} from (${contactId ? pageOfContact(contactId) : page(tx``)}) as d ${joins(tx)}
    order by d.id desc`;
}

/** Returns the deals of a list by `updated_since`, the least recently changed first. */
export async function listChangedDeals(tx: Sql, accountId: string, filter: DealFilter, page: ChangePage) {
  const { contactId } = filter;
  return await tx<(DealRow & { position: string })[]>`
    select ${columns(tx)}, ${changePosition(tx, 'd')} as position from (
      select * from deals d
      where d.account_id = ${accountId} and ${isChangeOf(tx, 'd', page)} ${isIn(tx, filter)}
      ${contactId ? tx`and d.contact_id = any(array(${idsOfContact(tx, accountId, contactId)}))` : tx``}
      order by d.updated_at, d.id limit ${page.limit}
    ) as d ${joins(tx)}
    order by d.updated_at, d.id`;
}

/** Returns the newest open deal of a contact (the surviving contact if merged) in these pipelines, or undefined. */
export async function selectOpenDeal(tx: Sql, accountId: string, contactId: string, pipelines: number[]) {
  // Searches each id separately, since a contact may have very many closed deals.
  const [row] = await tx<DealRow[]>`
    select ${columns(tx)} from (
      select d.* from (${idsOfContact(tx, accountId, contactId)}) as named
      cross join lateral (
        select * from deals d
        where d.account_id = ${accountId} and d.contact_id = named.id and d.status = 'open' and d.pipeline_id = any(${pipelines}::bigint[])
        order by d.id desc limit 1) as d
      order by d.id desc limit 1
    ) as d ${joins(tx)}`;
  return row;
}

/** Returns whether the request with this idempotency key was processed. */
export async function isProcessed(tx: Sql, accountId: string, key: string): Promise<boolean> {
  const rows = await tx`select 1 from taken_keys where account_id = ${accountId} and key = ${key}`;
  return rows.length === 1;
}

/** Marks the request with this idempotency key as processed. */
export async function insertProcessedKey(tx: Sql, accountId: string, key: string, now: Date) {
  await tx`insert into taken_keys (account_id, key, at) values (${accountId}, ${key}, ${now})`;
}

/** Inserts a deal with the account's next number. Returns its id, its number and when it was last changed. */
export async function insertDeal(tx: Sql, accountId: string, row: Omit<DealRow, 'id' | 'number' | 'updated_at'>) {
  const [added] = await tx<Pick<DealRow, 'id' | 'number' | 'updated_at'>[]>`
    with next as (
      insert into deal_numbers as known (account_id, last) values (${accountId}, 1)
      on conflict (account_id) do update set last = known.last + 1
      returning last
    )
    insert into deals (account_id, number, title, pipeline_id, stage_id, status, value_minor, currency, contact_id, notes,
      stage_entered_at, closed_at, created_at, updated_at)
    select ${accountId}, last, ${row.title}, ${row.pipeline_id}, ${row.stage_id}, ${row.status}, ${row.value_minor},
      ${row.currency}, ${row.own_contact_id}, ${row.notes}, ${row.stage_entered_at}, ${row.closed_at}, ${row.created_at},
      ${changeTime(tx, accountId, row.created_at)}
    from next returning id, number, updated_at`;
  return added!;
}

/** Writes every mutable column of a deal. Returns the time of the change. */
export async function updateDealRow(tx: Sql, accountId: string, row: DealRow, now: Date): Promise<Date> {
  const [changed] = await tx<Pick<DealRow, 'updated_at'>[]>`
    update deals set title = ${row.title}, stage_id = ${row.stage_id}, status = ${row.status},
      value_minor = ${row.value_minor}, currency = ${row.currency}, contact_id = ${row.own_contact_id}, notes = ${row.notes},
      stage_entered_at = ${row.stage_entered_at}, closed_at = ${row.closed_at},
      updated_at = ${changeTime(tx, accountId, now)}
    where account_id = ${accountId} and id = ${row.id}
    returning updated_at`;
  return changed!.updated_at;
}

export async function deleteDealRow(tx: Sql, accountId: string, id: string) {
  await tx`delete from deals where account_id = ${accountId} and id = ${id}`;
}
