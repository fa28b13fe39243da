import type { ContactSummary } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';

/** The contact that an id stands for: of a merged one the survivor. */
export interface KnownContact extends ContactSummary {
  deleted: boolean;
}

/** Who an id stands for; undefined where the copy does not have it. */
export async function knownContact(tx: Sql, accountId: string, id: string): Promise<KnownContact | undefined> {
  const [row] = await tx<KnownContact[]>`
    select coalesce(survivor.id, c.id) as id, coalesce(survivor.name, c.name) as name,
      coalesce(survivor.phone, c.phone) as phone, coalesce(survivor.deleted, c.deleted) as deleted
    from contacts c
    left join contacts survivor on survivor.account_id = c.account_id and survivor.id = c.merged_into
    where c.account_id = ${accountId} and c.id = ${id}`;
  return row;
}

/** What is shown of a contact that `joinContact` joined: contact_id, contact_name, contact_phone. */
export const contactColumns = (sql: Sql) => sql`
  coalesce(survivor.id, c.id) as contact_id, coalesce(survivor.name, c.name) as contact_name,
  coalesce(survivor.phone, c.phone) as contact_phone`;

/** Joins the contact that a row of the table `alias` names in contact_id, and its survivor; null where it names none. */
export const joinContact = (sql: Sql, alias: string) => sql`
  left join contacts c on c.account_id = ${sql(`${alias}.account_id`)} and c.id = ${sql(`${alias}.contact_id`)}
  left join contacts survivor on survivor.account_id = c.account_id and survivor.id = c.merged_into`;

/** Every id that stands for a contact: its own and those that were merged into it. For `contact_id = any(array(…))`. */
export const idsOfContact = (sql: Sql, accountId: string, id: string) => sql`
  select id from contacts where account_id = ${accountId} and (id = ${id} or merged_into = ${id})`;

/** Keeps the contact as it is after the event with this sequence; an older event changes nothing. */
export async function upsertContact(
  tx: Sql,
  accountId: string,
  contact: ContactSummary,
  sequence: number,
): Promise<void> {
  await tx`
    insert into contacts as known (account_id, id, name, phone, sequence)
    values (${accountId}, ${contact.id}, ${contact.name}, ${contact.phone}, ${sequence})
    on conflict (account_id, id) do update
      set name = excluded.name, phone = excluded.phone, sequence = excluded.sequence
      where known.sequence < excluded.sequence`;
}

/** Keeps what the owner answered about an id; what events have told already is newer and stays. */
export async function insertAskedContact(
  tx: Sql,
  accountId: string,
  id: string,
  answer: ContactSummary,
): Promise<void> {
  await tx`
    insert into contacts (account_id, id, name, phone, merged_into, sequence)
    select ${accountId}::uuid, asked.id, ${answer.name}, ${answer.phone}, nullif(${answer.id}::uuid, asked.id), 0
    from (select ${answer.id}::uuid union select ${id}::uuid) as asked (id)
    on conflict do nothing`;
}

/** From now on the contact cannot be named; its appointments go on to show it. */
export async function markContactDeleted(
  tx: Sql,
  accountId: string,
  contact: ContactSummary,
  sequence: number,
): Promise<void> {
  await tx`
    insert into contacts (account_id, id, name, phone, deleted, sequence)
    values (${accountId}, ${contact.id}, ${contact.name}, ${contact.phone}, true, ${sequence})
    on conflict (account_id, id) do update set deleted = true, sequence = excluded.sequence`;
}

/** From now on the merged contact, and all that were merged into it before, stand for the survivor or for its survivor. */
export async function mergeContacts(
  tx: Sql,
  accountId: string,
  survivor: ContactSummary,
  merged: ContactSummary,
  sequence: number,
): Promise<void> {
  await upsertContact(tx, accountId, survivor, sequence);
  await upsertContact(tx, accountId, merged, sequence);
  await tx`
    update contacts set merged_into = (
      select coalesce(s.merged_into, s.id) from contacts s where s.account_id = ${accountId} and s.id = ${survivor.id})
    where account_id = ${accountId} and (id = ${merged.id} or merged_into = ${merged.id})`;
}
