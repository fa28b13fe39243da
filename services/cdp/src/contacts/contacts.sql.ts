import type { JsonValue, Sql } from '@customer-platform/service-kit';

export interface ContactRow {
  id: string;
  number: number;
  external_id: string | null;
  name: string;
  phone: string | null;
  email: string | null;
  tags: string[];
  fields: Record<string, string | number | boolean>;
  merged_into: string | null;
  created_at: Date;
  updated_at: Date;
}

/** What a write sets. */
export type ContactValues = Pick<ContactRow, 'external_id' | 'name' | 'phone' | 'email' | 'tags' | 'fields'>;

const columns = (sql: Sql) =>
  sql`id, number, external_id, name, phone, email, tags, fields, merged_into, created_at, updated_at`;

/** Adds a contact under the account's next number: one statement. */
export async function insertContact(
  sql: Sql,
  accountId: string,
  values: ContactValues,
  now: Date,
): Promise<ContactRow> {
  const [row] = await sql<ContactRow[]>`
    with next as (
      insert into contact_numbers as known (account_id, last) values (${accountId}, 1)
      on conflict (account_id) do update set last = known.last + 1
      returning last
    )
    insert into contacts (account_id, number, external_id, name, phone, email, tags, fields, created_at, updated_at)
    select ${accountId}, last, ${values.external_id}, ${values.name}, ${values.phone}, ${values.email},
      ${values.tags}::text[], ${sql.json(values.fields as JsonValue)}, ${now}, ${now}
    from next
    returning ${columns(sql)}`;
  return row!;
}

/** Reads a contact; in a write, `lock` keeps it until the transaction ends. */
export async function findContact(
  sql: Sql,
  accountId: string,
  id: string,
  lock: 'lock' | 'read' = 'read',
): Promise<ContactRow | undefined> {
  const [row] = await sql<ContactRow[]>`
    select ${columns(sql)} from contacts where account_id = ${accountId} and id = ${id}
    ${lock === 'lock' ? sql`for update` : sql``}`;
  return row;
}

/**
 * Finds the oldest contact with an external id, locked. Until the transaction ends no other one can look for the same id,
 * so that two writers never both create it.
 */
export async function findOldestByExternalId(
  sql: Sql,
  accountId: string,
  externalId: string,
): Promise<ContactRow | undefined> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`${accountId} ${externalId}`}, 1))`;
  const [row] = await sql<ContactRow[]>`
    select ${columns(sql)} from contacts
    where account_id = ${accountId} and external_id = ${externalId} and merged_into is null
    order by id limit 1 for update`;
  return row;
}

/** Sets all values of a contact. */
export async function updateContactRow(
  sql: Sql,
  accountId: string,
  id: string,
  values: ContactValues,
  now: Date,
): Promise<ContactRow> {
  const [row] = await sql<ContactRow[]>`
    update contacts set external_id = ${values.external_id}, name = ${values.name}, phone = ${values.phone},
      email = ${values.email}, tags = ${values.tags}::text[], fields = ${sql.json(values.fields as JsonValue)}, updated_at = ${now}
    where account_id = ${accountId} and id = ${id}
    returning ${columns(sql)}`;
  return row!;
}

export async function deleteContactRow(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql`delete from contacts where account_id = ${accountId} and id = ${id}`;
}

export interface ContactFilter {
  q?: string | undefined;
  phone?: string | undefined;
  email?: string | undefined;
  external_id?: string | undefined;
  tag?: string | undefined;
}

/** A page of contacts that were not merged, newest first, after the contact `after`. */
export async function selectContacts(
  sql: Sql,
  accountId: string,
  filter: ContactFilter,
  after: string | undefined,
  limit: number,
): Promise<ContactRow[]> {
  const { q, phone, email, external_id, tag } = filter;
  return await sql<ContactRow[]>`
    select ${columns(sql)} from contacts
    where account_id = ${accountId} and merged_into is null
      ${after === undefined ? sql`` : sql`and id < ${after}`}
      ${q === undefined ? sql`` : sql`and search like '%' || lower(${escapeLike(q)}) || '%'`}
      ${phone === undefined ? sql`` : sql`and phone = ${phone}`}
      ${email === undefined ? sql`` : sql`and email = ${email}`}
      ${external_id === undefined ? sql`` : sql`and external_id = ${external_id}`}
      ${tag === undefined ? sql`` : sql`and tags @> ${[tag]}::text[]`}
    order by id desc limit ${limit}`;
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
