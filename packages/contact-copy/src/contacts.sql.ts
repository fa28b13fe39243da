import type { ContactSummary, contactRestored } from '@customer-platform/contracts/cdp';
import type { EventData } from '@customer-platform/contracts/core';
import type { Fragment, ReceivedEvent, Sql } from '@customer-platform/service-kit';

/** The contact that an id resolves to: the surviving contact, if merged. */
export interface KnownContact extends ContactSummary {
  deleted: boolean;
}

/** Returns the contact that an id resolves to, or undefined if the copy does not have it. */
export async function knownContact(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<KnownContact[]>`select * from (${contactNamed(tx, tx`${accountId}`, tx`${id}`)}) as contact`;
  return row;
}

/** Selects the contact that an id resolves to, as a KnownContact. No row if the copy does not have it. `accountId` and `id` are expressions. */
export const contactNamed = (sql: Sql, accountId: Fragment, id: Fragment) => sql`
  select coalesce(survivor.id, c.id) as id, coalesce(survivor.name, c.name) as name,
    coalesce(survivor.phone, c.phone) as phone, coalesce(survivor.deleted, c.deleted) as deleted
  from contacts c ${joinSurvivor(sql)}
  where c.account_id = ${accountId} and c.id = ${id}`;

const joinSurvivor = (sql: Sql) => sql`
  left join contacts survivor on survivor.account_id = c.account_id and survivor.id = c.merged_into`;

/** Columns of a contact joined with `joinContact`: contact_id, contact_name, contact_phone. */
export const contactColumns = (sql: Sql) => sql`
  coalesce(survivor.id, c.id) as contact_id, coalesce(survivor.name, c.name) as contact_name,
  coalesce(survivor.phone, c.phone) as contact_phone`;

/** Left joins the contact in `contact_id` of the table `alias`, and its surviving contact, if merged. */
export const joinContact = (sql: Sql, alias: string) => sql`
  left join contacts c on c.account_id = ${sql(`${alias}.account_id`)} and c.id = ${sql(`${alias}.contact_id`)}
  ${joinSurvivor(sql)}`;

/**
 * Selects all ids that resolve to the same contact as `id`, for `contact_id = any(array(…))`. The contact's own id is included even if the copy lacks
 * it.
 */
export const idsOfContact = (sql: Sql, accountId: string, id: string) => {
  const contact = storedContact(sql, sql`${accountId}`, sql`${id}`);
  return sql`
    select ${contact}::uuid as id union select id from contacts where account_id = ${accountId} and merged_into = ${contact}`;
};

/** Expression for the id under which a contact's new row is stored: the surviving contact's, if merged. `accountId` and `id` are expressions. */
export const storedContact = (sql: Sql, accountId: Fragment, id: Fragment) => sql`
  coalesce((select c.merged_into from contacts c where c.account_id = ${accountId} and c.id = ${id}), ${id})`;

/**
 * State of a contact in an event. Of two states of a contact, the one with the greater sequence is newer. `merged_into` is the contact's direct
 * survivor, null if its merge was undone, or undefined if the event says neither.
 */
export interface ContactChange extends ContactSummary {
  account_id: string;
  merged_into: string | null | undefined;
  deleted: boolean;
  sequence: number;
}

/**
 * Upserts contacts that are newer than the copy. Merges and other values each have their own sequence, so events may arrive in any order. A merged
 * contact, and all contacts merged into it earlier, resolve to the last survivor until the merge is undone. A deleted contact can no longer be named
 * in new rows; existing rows still show it.
 */
export async function upsertContacts(tx: Sql, changes: readonly ContactChange[]) {
  const texts = (name: keyof ContactChange) =>
    changes.map(({ [name]: value }) => (value == null ? null : String(value)));
  const ofMerges = changes.map(({ merged_into, sequence }) => (merged_into === undefined ? 0 : sequence));
  // Pipelined: the lock is held before the second statement begins.
  const locked = lockCopies(tx, changes);
  const kept = tx`
    insert into contacts as known (account_id, id, name, phone, deleted, sequence, merged_into, direct_survivor, merge_sequence)
    select account_id, id, (array_agg(name order by sequence desc))[1], (array_agg(phone order by sequence desc))[1], bool_or(deleted),
      max(sequence), (array_agg(merged_into order by merge_sequence desc))[1], (array_agg(merged_into order by merge_sequence desc))[1],
      max(merge_sequence)
    from unnest(${texts('account_id')}::uuid[], ${texts('id')}::uuid[], ${texts('name')}::text[], ${texts('phone')}::text[],
      ${texts('merged_into')}::uuid[], ${texts('deleted')}::text[]::boolean[], ${texts('sequence')}::text[]::bigint[],
      ${ofMerges.map(String)}::text[]::bigint[])
      as said (account_id, id, name, phone, merged_into, deleted, sequence, merge_sequence)
    group by account_id, id order by account_id, id
    on conflict (account_id, id) do update
      set name = case when known.sequence < excluded.sequence then excluded.name else known.name end,
        phone = case when known.sequence < excluded.sequence then excluded.phone else known.phone end,
        deleted = known.deleted or excluded.deleted, sequence = greatest(known.sequence, excluded.sequence),
        merged_into = case when known.merge_sequence < excluded.merge_sequence then excluded.merged_into else known.merged_into end,
        direct_survivor = case when known.merge_sequence < excluded.merge_sequence then excluded.direct_survivor
          else known.direct_survivor end,
        merge_sequence = greatest(known.merge_sequence, excluded.merge_sequence)
      where known.sequence < excluded.sequence or known.merge_sequence < excluded.merge_sequence`;
  await Promise.all([locked, kept]);
  const merged = changes.filter(({ merged_into }) => merged_into !== undefined);
  if (merged.length > 0) await followSurvivors(tx, merged);
}

/**
 * Points contacts whose survivor changed, and all contacts merged into them, to the last survivor. That survivor may have been merged itself, earlier
 * or in the same batch. If events out of order form a cycle, these contacts stay as they are until the missing event arrives.
 */
async function followSurvivors(tx: Sql, changed: readonly Pick<ContactChange, 'account_id' | 'id'>[]) {
  const accounts = changed.map(({ account_id }) => account_id);
  const ids = changed.map(({ id }) => id);
  await tx`
    with recursive above (account_id, origin, id) as (
      select distinct account_id, id, id from unnest(${accounts}::uuid[], ${ids}::uuid[]) as changed (account_id, id)
      union
      select c.account_id, above.origin, coalesce(c.direct_survivor, c.merged_into)
      from above join contacts c on c.account_id = above.account_id and c.id = above.id and c.merged_into is not null
    ), found (account_id, survivor, id) as (
      select account_id, id, origin from above where not exists (
        select from contacts c where c.account_id = above.account_id and c.id = above.id and c.merged_into is not null)
      union
      -- offset 0 forces an index lookup at each level instead of a table scan.
      select found.account_id, found.survivor, c.id from found cross join lateral (
        select id from contacts c where c.account_id = found.account_id and c.merged_into is not null
          and coalesce(c.direct_survivor, c.merged_into) = found.id offset 0) as c
    )
    update contacts c set merged_into = nullif(found.survivor, c.id), direct_survivor = coalesce(c.direct_survivor, c.merged_into)
    from found where c.account_id = found.account_id and c.id = found.id
      and c.merged_into is distinct from nullif(found.survivor, c.id)`;
}

/**
 * Assigns to the survivor of an undone merge the rows created between the merge and its undoing. These are rows of the restored contact and of
 * contacts merged into it by then, written by processes without the merge event. Both times and `created_at` are by the account's clock.
 */
export async function assignToSurvivor(
  tx: Sql,
  table: string,
  { account, sequence, timestamp, data }: ReceivedEvent<EventData<typeof contactRestored>>,
) {
  await lockCopies(tx, [{ account_id: account }]);
  // In id order, like all bulk updates, to avoid deadlocks.
  await tx`
    with recursive below (id) as (
      select ${data.restored}::uuid
      union
      select c.id from below cross join lateral (
        select id from contacts c where c.account_id = ${account} and c.merged_into is not null
          and coalesce(c.direct_survivor, c.merged_into) = below.id and c.merge_sequence < ${sequence} offset 0) as c
    ), late as (
      select id from ${tx(table)} where account_id = ${account} and contact_id in (select id from below)
        and created_at > ${data.merged_at}::timestamptz and created_at < ${timestamp}::timestamptz
      order by id for update
    )
    update ${tx(table)} as made set contact_id = ${data.survivor} from late where made.account_id = ${account} and made.id = late.id`;
}

/**
 * Inserts the owner's reply about an id: the surviving contact, and the chain of contacts merged into it. Existing rows come from events and are
 * newer, so they stay. The contact in the reply may have been merged since.
 */
export async function insertReply(tx: Sql, accountId: string, asked: readonly string[], reply: ContactSummary) {
  const ids = [...asked.filter((id) => id !== reply.id), reply.id];
  await lockCopies(tx, [{ account_id: accountId }]);
  const inserted = await tx<{ account_id: string; id: string }[]>`
    insert into contacts (account_id, id, name, phone, merged_into, direct_survivor, sequence)
    select ${accountId}::uuid, asked.id, ${reply.name}, ${reply.phone}, asked.next, asked.next, 0
    from unnest(${ids}::uuid[], ${[...ids.slice(1), null]}::uuid[]) as asked (id, next)
    on conflict do nothing returning account_id, id`;
  if (inserted.length > 0) await followSurvivors(tx, inserted);
}

/** Inserts contacts from another service's event if the copy lacks them. Rows from contact events are newer and stay. */
export async function insertMissingContacts(tx: Sql, contacts: readonly (ContactSummary & { account_id: string })[]) {
  await lockCopies(tx, contacts);
  await tx`
    insert into contacts (account_id, id, name, phone, sequence)
    select distinct on (account_id, id) account_id, id, name, phone, 0
    from unnest(${contacts.map(({ account_id }) => account_id)}::uuid[], ${contacts.map(({ id }) => id)}::uuid[],
      ${contacts.map(({ name }) => name)}::text[], ${contacts.map(({ phone }) => phone)}::text[]) as given (account_id, id, name, phone)
    order by account_id, id
    on conflict do nothing`;
}

/** Locks the copies of these accounts until the transaction ends, in id order. Taken before any row lock, to avoid deadlocks. */
async function lockCopies(tx: Sql, changed: readonly { account_id: string }[]) {
  await tx`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended('contact copies of ' || current_schema() || ' ' || id, 2) as key
      from unnest(${changed.map(({ account_id }) => account_id)}::text[]) as account (id)
      order by key) as keys`;
}
