import type { TemplateName } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

/** What an account says in its own words; null where the default holds. */
export interface OwnText {
  account_id: string;
  name: TemplateName;
  subject: string | null;
  body: string | null;
}

/** The own texts of these accounts. */
export async function selectOwnTexts(sql: Sql, accountIds: readonly string[]): Promise<OwnText[]> {
  return await sql<OwnText[]>`
    select account_id, name, subject, body from templates where account_id = any(${[...accountIds]}::uuid[])`;
}

/** Lets one transaction at a time change an account's texts, also where it has none yet. */
export async function lockOwnTexts(tx: Sql, accountId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`templates ${accountId}`}, 0))`;
}

export async function upsertOwnText(tx: Sql, { account_id, name, subject, body }: OwnText): Promise<void> {
  await tx`
    insert into templates (account_id, name, subject, body) values (${account_id}, ${name}, ${subject}, ${body})
    on conflict (account_id, name) do update set subject = excluded.subject, body = excluded.body`;
}

export async function deleteOwnText(tx: Sql, accountId: string, name: TemplateName): Promise<void> {
  await tx`delete from templates where account_id = ${accountId} and name = ${name}`;
}
