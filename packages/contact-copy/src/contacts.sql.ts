import type { ContactSummary } from '@customer-platform/contracts/cdp';
import type { Fragment, Sql } from '@customer-platform/service-kit';

/** Contact that an id resolves to: the surviving contact, if merged. */
export interface KnownContact extends ContactSummary {
  deleted: boolean;
}

/** Returns the contact that an id resolves to; undefined if the copy does not have it. */
export async function knownContact(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<KnownContact[]>`select * from (${contactNamed(tx, tx`${accountId}`, tx`${id}`)}) as contact`;
  return row;
}

/** Selects the contact that an id resolves to, as a KnownContact; no row if the copy does not have it. `accountId` and `id` are expressions. */
export const contactNamed = (sql: Sql, accountId: Fragment, id: Fragment) => sql`
  select coalesce(survivor.id, c.id) as id, coalesce(survivor.name, c.name) as name,
    coalesce(survivor.phone, c.phone) as phone, coalesce(survivor.deleted, c.deleted) as deleted
  from contacts c ${joinSurvivor(sql)}
  where c.account_id = ${accountId} and c.id = ${id}`;

const joinSurvivor = (sql: Sql) => sql`
  left join contacts survivor on survivor.account_id = c.account_id and survivor.id = c.merged_into`;

/** Columns of a contact joined by `joinContact`: contact_id, contact_name, contact_phone. */
export const contactColumns = (sql: Sql) => sql`
  coalesce(survivor.id, c.id) as contact_id, coalesce(survivor.name, c.name) as contact_name,
  coalesce(survivor.phone, c.phone) as contact_phone`;

/** Left joins the contact in `contact_id` of the table `alias`, and the surviving contact, if merged. */
export const joinContact = (sql: Sql, alias: string) => sql`
  left join contacts c on c.account_id = ${sql(`${alias}.account_id`)} and c.id = ${sql(`${alias}.contact_id`)}
  ${joinSurvivor(sql)}`;

/** Selects every id that resolves to a contact: its own and those merged into it. For `contact_id = any(array(…))`. */
export const idsOfContact = (sql: Sql, accountId: string, id: string) => sql`
  select id from contacts where account_id = ${accountId} and (id = ${id} or merged_into = ${id})`;

/** State of a contact in an event; of two states of one contact, the one with the greater sequence is newer. */
export interface ContactChange extends ContactSummary {
  account_id: string;
  merged_into: string | null;
  deleted: boolean;
  sequence: number;
}

/**
 * Upserts contacts that are newer than the copy, in one statement. From then on a merged contact, and all that were merged into
 * it before, resolve to the last survivor; a deleted contact cannot be named any more, and rows that name it go on to show it.
 */
export async function keepContacts(tx: Sql, changes: readonly ContactChange[]) {
  const texts = (name: keyof ContactChange) =>
    changes.map(({ [name]: value }) => (value === null ? null : String(value)));
  await lockCopies(tx, changes);
  await tx`
    insert into contacts as known (account_id, id, name, phone, merged_into, deleted, sequence)
    select distinct on (account_id, id) * from unnest(${texts('account_id')}::uuid[], ${texts('id')}::uuid[],
      ${texts('name')}::text[], ${texts('phone')}::text[], ${texts('merged_into')}::uuid[],
      ${texts('deleted')}::text[]::boolean[], ${texts('sequence')}::text[]::bigint[])
      as said (account_id, id, name, phone, merged_into, deleted, sequence)
    order by account_id, id, sequence desc
    on conflict (account_id, id) do update
      set name = excluded.name, phone = excluded.phone, merged_into = coalesce(excluded.merged_into, known.merged_into),
        deleted = known.deleted or excluded.deleted, sequence = excluded.sequence
      where known.sequence < excluded.sequence`;
  const merged = changes.filter(({ merged_into }) => merged_into !== null);
  if (merged.length > 0) await followSurvivors(tx, merged);
}

/** Points merged contacts to the last survivor: theirs may have been merged itself, before or in the same batch. */
async function followSurvivors(tx: Sql, merged: readonly ContactChange[]) {
  const accounts = merged.map(({ account_id }) => account_id);
  const ids = merged.map(({ id }) => id);
  await tx`
    with recursive steps (account_id, id, survivor) as (
      select account_id, id, merged_into from contacts
      where account_id = any(${accounts}::uuid[]) and (id = any(${ids}::uuid[]) or merged_into = any(${ids}::uuid[]))
      union
      select steps.account_id, steps.id, next.merged_into
      from steps join contacts next on next.account_id = steps.account_id and next.id = steps.survivor
    )
    update contacts c set merged_into = steps.survivor
    from steps left join contacts last on last.account_id = steps.account_id and last.id = steps.survivor
    where c.account_id = steps.account_id and c.id = steps.id and c.merged_into <> steps.survivor and last.merged_into is null`;
}

/**
 * Inserts the owner's reply about an id; rows that events wrote already are newer and stay. The contact in the reply may have
 * been merged since.
 */
export async function insertAskedContact(tx: Sql, accountId: string, id: string, reply: ContactSummary) {
  await lockCopies(tx, [{ account_id: accountId }]);
  await tx`
    insert into contacts (account_id, id, name, phone, merged_into, sequence)
    select ${accountId}::uuid, asked.id, ${reply.name}, ${reply.phone}, nullif(coalesce(
      (select merged_into from contacts where account_id = ${accountId} and id = ${reply.id}), ${reply.id}), asked.id), 0
    from (select ${reply.id}::uuid union select ${id}::uuid) as asked (id)
    on conflict do nothing`;
}

/** Inserts contacts from another service's event if the copy does not have them: its own rows are newer, or will be. */
export async function keepGivenContacts(tx: Sql, contacts: readonly (ContactSummary & { account_id: string })[]) {
  await lockCopies(tx, contacts);
  await tx`
    insert into contacts (account_id, id, name, phone, sequence)
    select distinct on (account_id, id) account_id, id, name, phone, 0
    from unnest(${contacts.map(({ account_id }) => account_id)}::uuid[], ${contacts.map(({ id }) => id)}::uuid[],
      ${contacts.map(({ name }) => name)}::text[], ${contacts.map(({ phone }) => phone)}::text[]) as given (account_id, id, name, phone)
    order by account_id, id
    on conflict do nothing`;
}

/** Locks the copies of these accounts until the transaction ends; taken before any row lock, in one order, to avoid deadlocks. */
async function lockCopies(tx: Sql, changed: readonly { account_id: string }[]) {
  await tx`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended('contact copies ' || id, 2) as key from unnest(${changed.map(({ account_id }) => account_id)}::text[]) as account (id)
      order by key) as keys`;
}
