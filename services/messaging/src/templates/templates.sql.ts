import type { TemplateName, WhatsAppTemplate } from '@customer-platform/contracts/messaging';
import type { JsonValue, Sql } from '@customer-platform/service-kit';

/** An account's own text. Null fields use the default. */
export interface OwnText {
  account_id: string;
  name: TemplateName;
  subject: string | null;
  body: string | null;
  whatsapp: WhatsAppTemplate | null;
}

/** Returns the own texts of these accounts. */
export async function selectOwnTexts(sql: Sql, accountIds: readonly string[]): Promise<OwnText[]> {
  return await sql<OwnText[]>`
    select account_id, name, subject, body, whatsapp from templates where account_id = any(${[...accountIds]}::uuid[])`;
}

/** Locks an account's texts until the transaction ends, even if it has none yet. */
export async function lockOwnTexts(tx: Sql, accountId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`templates ${accountId}`}, 0))`;
}

export async function upsertOwnText(tx: Sql, { account_id, name, subject, body, whatsapp }: OwnText): Promise<void> {
  await tx`
    insert into templates (account_id, name, subject, body, whatsapp)
    values (${account_id}, ${name}, ${subject}, ${body}, ${whatsapp && tx.json(whatsapp as unknown as JsonValue)})
    on conflict (account_id, name) do update set subject = excluded.subject, body = excluded.body, whatsapp = excluded.whatsapp`;
}

export async function deleteOwnText(tx: Sql, accountId: string, name: TemplateName): Promise<void> {
  await tx`delete from templates where account_id = ${accountId} and name = ${name}`;
}
