import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { type JsonValue, noAccount, type Sql } from '@customer-platform/service-kit';

/** A change and its actor. */
export interface Change extends Pick<AuditEntry, 'action' | 'target'> {
  actor: string;
  at: Date;
  account?: string | undefined;
  reason?: string | undefined;
}

/** The fields that a change replaced, with their values before and after. Contains no secrets. */
export interface Difference {
  before?: Record<string, unknown> | undefined;
  after?: Record<string, unknown> | undefined;
}

export interface AuditRow extends Omit<AuditEntry, 'at'> {
  at: Date;
}

/** Writes a change; returns its id. */
export async function insertChange(
  sql: Sql,
  change: Change,
  difference: Difference,
  isCertain: boolean,
): Promise<string> {
  const { account = noAccount, at, actor, action, target, reason = null } = change;
  const [row] = await sql<{ id: string }[]>`
    insert into audit (account_id, at, actor, action, target, reason, before, after, is_certain)
    values (${account}, ${at}, ${actor}, ${action}, ${target}, ${reason}, ${json(sql, difference.before)}, ${json(sql, difference.after)}, ${isCertain})
    returning id`;
  return row!.id;
}

/** Marks a change as certain and stores the changed values. */
export async function confirmChange(sql: Sql, id: string, { before, after }: Difference): Promise<void> {
  await sql`
    update audit set is_certain = true, before = ${json(sql, before)}, after = ${json(sql, after)} where id = ${id}`;
}

/** Deletes the entry of a change that did not happen. */
export async function deleteChange(sql: Sql, id: string): Promise<void> {
  await sql`delete from audit where id = ${id}`;
}

/** Returns changes, newest first, after the change `after`. Omits uncertain changes since `certainSince`, which may still be in progress. */
export async function selectChanges(
  sql: Sql,
  { account, actor }: { account?: string | undefined; actor?: string | undefined },
  { after, limit, certainSince }: { after: string | undefined; limit: number; certainSince: Date },
): Promise<AuditRow[]> {
  return await sql<AuditRow[]>`
    select id, at, actor, action, nullif(account_id, ${noAccount}) as account, target, reason, before, after from audit
    where (is_certain or at < ${certainSince}) ${account ? sql`and account_id = ${account}` : sql``}
      ${actor ? sql`and actor = ${actor}` : sql``} ${after ? sql`and id < ${after}` : sql``}
    order by id desc limit ${limit}`;
}

export async function hasChange(sql: Sql, id: string): Promise<boolean> {
  return (await sql`select 1 from audit where id = ${id}`).length === 1;
}

function json(sql: Sql, value: Record<string, unknown> | undefined) {
  return value === undefined ? null : sql.json(value as JsonValue);
}
