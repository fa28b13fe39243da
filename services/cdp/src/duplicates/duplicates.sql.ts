import type { DuplicateReason } from '@customer-platform/contracts/cdp';
import type { PageBounds, Sql } from '@customer-platform/service-kit';

/** A pair with the current values of both contacts. */
export interface DuplicateRow {
  id: number;
  older_id: string;
  newer_id: string;
  reason: DuplicateReason;
  detail: string;
  score: number;
  status: 'open' | 'dismissed' | 'merged';
  older_name: string;
  older_phone: string | null;
  newer_name: string;
  newer_phone: string | null;
}

const columns = (sql: Sql) => sql`
  d.id, d.older_id, d.newer_id, d.reason, d.detail, d.score, d.status,
  older.name as older_name, older.phone as older_phone, newer.name as newer_name, newer.phone as newer_phone`;

const contactsOfPair = (sql: Sql) => sql`
  join contacts older on older.account_id = d.account_id and older.id = d.older_id
  join contacts newer on newer.account_id = d.account_id and newer.id = d.newer_id`;

/** Returns a pair, locked until the transaction ends; undefined if the account has none with this id. The caller must hold identities. */
export async function lockDuplicate(tx: Sql, accountId: string, id: number) {
  const [row] = await tx<DuplicateRow[]>`
    select ${columns(tx)} from duplicates d ${contactsOfPair(tx)}
    where d.account_id = ${accountId} and d.id = ${id} for update of d`;
  return row;
}

/** Lists open pairs, newest first, after the pair `after`. */
export async function selectOpenDuplicates(
  sql: Sql,
  accountId: string,
  reason: DuplicateReason | undefined,
  { after, limit }: PageBounds<number>,
) {
  // Pairs of a deleted contact may remain for a moment.
  const hasContact = (column: string) =>
    sql`exists (select from contacts where account_id = ${accountId} and id = duplicates.${sql(column)} offset 0)`;
  return await sql<DuplicateRow[]>`
    select ${columns(sql)} from (
      select * from duplicates
      where account_id = ${accountId} and status = 'open' and ${hasContact('older_id')} and ${hasContact('newer_id')}
        ${reason === undefined ? sql`` : sql`and reason = ${reason}`}
        ${after === undefined ? sql`` : sql`and id < ${after}`}
      order by id desc limit ${limit}
    ) as d ${contactsOfPair(sql)}
    order by d.id desc`;
}

/** Records the decision about a pair. */
export async function decideDuplicate(tx: Sql, accountId: string, id: number, status: 'dismissed' | 'merged') {
  await tx`update duplicates set status = ${status} where account_id = ${accountId} and id = ${id}`;
}
