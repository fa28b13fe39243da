import type { Fragment, KeyedRows, Sql } from '@customer-platform/service-kit';
import type { NewMessage } from './messages.sql.ts';

/** Maximum number of failed messages counted per request. */
export const mostCounted = 100_000;

/** A request to resend the failed messages of a period, each at most once. */
export interface ResendRow {
  account_id: string;
  id: string;
  since: Date;
  until: Date;
  code: string | null;
}

/** Requests with messages left. */
export const runningResends: KeyedRows = {
  name: 'resends',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
};

const isMatched = (sql: Sql, { account_id, since, until, code }: Omit<ResendRow, 'id'>) => sql`
  account_id = ${account_id} and status = 'failed' and failed_at >= ${since} and failed_at < ${until} and resent_at is null
    ${code === null ? sql`` : sql`and error_code = ${code}`}`;

/** Counts a period's failed messages that were not resent, up to 100,000. */
export async function countMatched(sql: Sql, period: Omit<ResendRow, 'id'>): Promise<number> {
  const [row] = await sql<{ matched: number }[]>`
    select count(*)::int as matched from (select from messages where ${isMatched(sql, period)} limit ${mostCounted}) as counted`;
  return row!.matched;
}

/** Counts an account's requests with messages left. */
export async function countRunning(sql: Sql, accountId: string): Promise<number> {
  const [row] = await sql<{ running: number }[]>`
    select count(*)::int as running from resends where account_id = ${accountId}`;
  return row!.running;
}

export async function insertResend(
  tx: Sql,
  { account_id, since, until, code }: Omit<ResendRow, 'id'>,
  now: Date,
): Promise<void> {
  await tx`
    insert into resends (account_id, since, until, code, due_at) values (${account_id}, ${since}, ${until}, ${code}, ${now})`;
}

/** Returns the request that `due` selects and locks. */
export async function takeResend(tx: Sql, due: Fragment): Promise<ResendRow[]> {
  return await tx<ResendRow[]>`
    with due as (${due}) select r.* from due join resends r on r.account_id = due.account_id and r.id = due.id`;
}

export async function deleteResend(tx: Sql, { account_id, id }: ResendRow): Promise<void> {
  await tx`delete from resends where account_id = ${account_id} and id = ${id}`;
}

/** The content with which a message is resent. */
export type ResentMessage = Omit<NewMessage, 'send_at' | 'needs_channels' | 'key' | 'trace'>;

const resent = (sql: Sql) =>
  sql`m.account_id, m.reference, m.contact_id, m.given_to, m.purpose, m.steps, m.is_simulated, m.useful_until`;

/** Marks a request's next failed messages as resent, except locked ones; returns them, oldest first. */
export async function markMatched(tx: Sql, resend: ResendRow, limit: number, now: Date): Promise<ResentMessage[]> {
  return await tx<ResentMessage[]>`
    with matched as (
      select account_id, id from messages where ${isMatched(tx, resend)} order by failed_at, id limit ${limit} for update skip locked
    ), marked as (
      update messages m set resent_at = ${now} from matched where m.account_id = matched.account_id and m.id = matched.id
      returning m.failed_at, m.id, ${resent(tx)}
    )
    select account_id, reference, contact_id, given_to, purpose, steps, is_simulated, useful_until from marked order by failed_at, id`;
}

/** Marks a failed message as resent, and returns it; undefined if it has not failed. */
export async function markFailed(
  tx: Sql,
  accountId: string,
  id: string,
  now: Date,
): Promise<ResentMessage | undefined> {
  const [row] = await tx<ResentMessage[]>`
    update messages m set resent_at = ${now} where m.account_id = ${accountId} and m.id = ${id} and m.status = 'failed'
    returning ${resent(tx)}`;
  return row;
}
