import type { Consent, Contact } from '@customer-platform/contracts/cdp';
import { numbersOfLine } from '@customer-platform/phone-number';
import {
  type ChangePage,
  changePositionText,
  changeTime,
  type Fragment,
  type JsonValue,
  lockNumber,
  maxPageBytes,
  type PageBounds,
  type Sql,
} from '@customer-platform/service-kit';
import { markChanged } from './changed-contacts.sql.ts';
import { deleteDependents } from './deleted-contacts.sql.ts';
import { holdLookup } from './identities.sql.ts';
import { nextNight } from './next-night.ts';

export interface ContactRow extends Omit<Contact, 'created_at' | 'updated_at'> {
  created_at: Date;
  updated_at: Date;
}

/** Values that a write sets. */
export type ContactValues = Pick<ContactRow, 'external_id' | 'name' | 'phone' | 'email' | 'tags' | 'fields'>;

const columnNames = 'id, number, external_id, name, phone, email, tags, fields, merged_into, created_at, updated_at';
export const columns = (sql: Sql) => sql.unsafe(columnNames);

/** Inserts a contact, like `insertContacts`. */
export async function insertContact(
  sql: Sql,
  account: { id: string; timezone: string },
  values: ContactValues & { id?: string | undefined },
  now: Date,
) {
  const [row] = await insertContacts(sql, account, [values], now);
  return row!;
}

const valueColumns = ['external_id', 'name', 'phone', 'email', 'tags', 'fields'] as const;
const valueNames = (sql: Sql, table: string) => sql.unsafe(valueColumns.map((name) => `${table}.${name}`).join(', '));
const givenNames = (sql: Sql) => sql.unsafe(['id', ...valueColumns].join(', '));

/** The contacts' values as a function in `rows from`. */
const given = (sql: Sql, contacts: readonly ContactValues[]) => sql`
  jsonb_to_recordset(${sql.json(contacts as unknown as JsonValue)})
    as (id uuid, external_id text, name text, phone text, email text, tags text[], fields jsonb)`;

/**
 * Inserts contacts in order under the account's next numbers, in one statement, each with its `id` if given. The first contact schedules the
 * account's nightly duplicate runs.
 */
export async function insertContacts(
  sql: Sql,
  account: { id: string; timezone: string },
  contacts: readonly (ContactValues & { id?: string | undefined })[],
  now: Date,
) {
  const time = changeTime(sql, account.id, now);
  return await sql<ContactRow[]>`
    with next as (
      insert into contact_numbers as known (account_id, last) values (${account.id}, ${contacts.length})
      on conflict (account_id) do update set last = known.last + excluded.last
      returning last
    ), nights as (
      insert into duplicate_runs (account_id, due_at)
      select ${account.id}, ${nextNight(now, account.timezone)} from next where last = ${contacts.length}
      on conflict do nothing
    ), made as (
      insert into contacts (account_id, id, number, external_id, name, phone, email, tags, fields, created_at, updated_at)
      select ${account.id}, coalesce(given.id, uuidv7()), last - ${contacts.length} + position, ${valueNames(sql, 'given')}, ${time}, ${time}
      from next, rows from (${given(sql, contacts)}) with ordinality as given (${givenNames(sql)}, position)
      order by position
      returning account_id, ${columns(sql)}
    ), marked as (${markChanged(sql, sql`select account_id, id as contact_id from made`)})
    select ${columns(sql)} from made order by number`;
}

/** Returns the contact with an id, or the surviving contact if it was merged. With `lock`, the row is locked until the transaction ends. */
export async function findContact(
  sql: Sql,
  accountId: string,
  id: string,
  lock: 'lock' | 'read' = 'read',
): Promise<ContactRow | undefined> {
  const [row] = await sql<ContactRow[]>`
    select ${columns(sql)} from contacts where account_id = ${accountId}
      and id = (select coalesce(merged_into, id) from contacts where account_id = ${accountId} and id = ${id})
    ${lock === 'lock' ? sql`for update` : sql``}`;
  // The contact was merged while this query waited for the lock.
  return row?.merged_into ? await findContact(sql, accountId, row.merged_into, lock) : row;
}

/** Most ids that `selectMerged` returns. */
const mostMerged = 1_000;

/** Returns the chain of ids from a merged contact to its survivor, without the survivor. At most 1,000 ids. */
export async function selectMerged(sql: Sql, accountId: string, id: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    with recursive above (id, next, position) as (
      select c.id, coalesce(c.direct_survivor, c.merged_into), 1 from contacts c where c.account_id = ${accountId} and c.id = ${id}
      union all
      select c.id, coalesce(c.direct_survivor, c.merged_into), above.position + 1
      from above join contacts c on c.account_id = ${accountId} and c.id = above.next
      where above.position < ${mostMerged}
    )
    select id from above where next is not null order by position`;
  return rows.map((row) => row.id);
}

/**
 * Returns the contact with an external id, locked. Other transactions cannot look up the same id until this one ends, so two writers never both
 * create the contact.
 */
export async function findOldestByExternalId(
  sql: Sql,
  accountId: string,
  externalId: string,
): Promise<ContactRow | undefined> {
  await holdLookup(sql, accountId, lockNumber('external_id', accountId, externalId));
  const [row] = await sql<ContactRow[]>`
    select ${columns(sql)} from contacts
    where account_id = ${accountId} and id = ${oldestByExternalId(sql, sql`${accountId}`, sql`${externalId}`)} for update`;
  return row?.merged_into ? await findContact(sql, accountId, row.merged_into, 'lock') : row;
}

/** Selects the id of the oldest contact with an external id that was not merged. Otherwise selects the survivor of the oldest merged one. */
export const oldestByExternalId = (sql: Sql, accountId: Fragment, externalId: Fragment) => sql`coalesce(
  (select e.id from contacts e where e.account_id = ${accountId} and e.external_id = ${externalId}
     and e.merged_into is null order by e.id limit 1),
  (select e.merged_into from contacts e where e.account_id = ${accountId} and e.external_id = ${externalId}
     and e.merged_into is not null order by e.id limit 1))`;

/** An address in stored form: all numbers (E.164) of one phone line, or an email (trimmed, lower case). */
export type Address = { column: 'phone'; values: readonly string[] } | { column: 'email'; values: readonly [string] };

/**
 * Returns the contact with an address, like `oldestByExternalId`. Other transactions cannot look up the same address until this one ends, so two
 * never both create the contact. The caller must hold identities; the contact is then neither merged nor deleted before the transaction ends.
 */
export async function findOldestByAddress(tx: Sql, accountId: string, { column, values }: Address) {
  // One lock per phone line, whichever of its numbers is given.
  const [first] = values.toSorted();
  await holdLookup(tx, accountId, lockNumber(column, accountId, first!));
  const [row] = await tx<ContactRow[]>`
    select ${columns(tx)} from contacts where account_id = ${accountId} and id = coalesce(
      ${oldestOf(tx, column, accountId, values, 'as it is')}, ${oldestOf(tx, column, accountId, values, 'merged')})`;
  return row;
}

/** Selects the oldest unmerged contact with one of the values. Otherwise selects the survivor of the oldest merged one. */
const oldestOf = (
  sql: Sql,
  column: Address['column'],
  accountId: string,
  values: readonly string[],
  kind: 'as it is' | 'merged',
) => sql`(
  select coalesce(e.merged_into, e.id) from unnest(${[...values]}::text[]) as given (value) cross join lateral (
    select id, merged_into from contacts where account_id = ${accountId} and ${sql(column)} = given.value
      and merged_into is ${kind === 'merged' ? sql`not null` : sql`null`} order by id limit 1) as e
  order by e.id limit 1)`;

/** Most contacts that `lockLine` returns. */
const mostOfLine = 100;

/**
 * Locks a contact and those that share its address on a channel, at most 100, and returns their ids. Returns none if the contact does not exist. The
 * caller must hold identities.
 */
export async function lockLine(tx: Sql, accountId: string, id: string, channel: Consent['channel']): Promise<string[]> {
  const found = await findContact(tx, accountId, id);
  if (!found) return [];
  const column = channel === 'email' ? 'email' : 'phone';
  const values = channel === 'email' ? [found.email] : numbersOfLine(found.phone ?? '');
  const rows = await tx<{ id: string }[]>`
    select id from contacts where account_id = ${accountId} and id = any(array(
      (select id from contacts where account_id = ${accountId} and ${tx(column)} = any(${values}::text[]) and id <> ${found.id}
        and merged_into is null order by id limit ${mostOfLine - 1})
      union all select ${found.id}::uuid))
    order by id for update`;
  return rows.map((row) => row.id);
}

/** Locks the id of a new contact until the transaction ends, so that a repeated request creates no second one. */
export async function holdNewId(tx: Sql, accountId: string, id: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${lockNumber('contact', accountId, id)}::bigint)`;
}

/** Sets all values of a contact. */
export async function updateContactRow(
  sql: Sql,
  accountId: string,
  contact: ContactValues & { id: string },
  now: Date,
) {
  const [row] = await updateContactRows(sql, accountId, [contact], now);
  return row!;
}

/** Sets all values of contacts; returns their rows in any order. Several contacts must be locked in id order by the caller. */
export async function updateContactRows(
  sql: Sql,
  accountId: string,
  contacts: readonly (ContactValues & { id: string })[],
  now: Date,
) {
  const ids = contacts.map(({ id }) => id);
  const marked = sql`select ${accountId}::uuid as account_id, unnest(${ids}::uuid[]) as contact_id`;
  return await sql<ContactRow[]>`
    with marked as (${markChanged(sql, marked)}), changed as (
      update contacts c set (external_id, name, phone, email, tags, fields) = row (${valueNames(sql, 'given')}),
        updated_at = ${changeTime(sql, accountId, now)}
      from rows from (${given(sql, contacts)}) as given (${givenNames(sql)})
      where c.account_id = ${accountId} and c.id = given.id
      returning c.*
    )
    select ${columns(sql)} from changed`;
}

/** Most rows of each kind that are deleted together with a contact. A job deletes the rest. */
const deletedAtOnce = 10_000;

/**
 * Deletes a contact with all its data, and the contacts that were merged into it. If it has very many events, consents or pairs, a job deletes the
 * rest; they are not shown without their contact. Its merge records expire at once.
 */
export async function deleteContactRow(sql: Sql, accountId: string, id: string) {
  const ids = sql`select id from contacts where account_id = ${accountId} and (id = ${id} or merged_into = ${id})`;
  await sql`
    with marked as (${markChanged(sql, sql`select ${accountId}::uuid as account_id, ${id}::uuid as contact_id`)}),
      ${deleteDependents(sql, { accountId, ids, limit: deletedAtOnce })},
      merges as (
        update merges set merged_at = to_timestamp(0)
        where account_id = ${accountId} and (survivor_id = any(array(${ids})) or merged_id = any(array(${ids}))))
    delete from contacts where account_id = ${accountId} and id = any(array(${ids}))`;
}

type ContactFilter = Partial<Record<'q' | 'email' | 'external_id' | 'tag', string | undefined>> & {
  /** All numbers of one phone line, or [""], which matches no contact. */
  phones?: readonly string[] | undefined;
};

/** Contacts at the start of a list that are scanned before the index for strings and tags is used. */
const firstScanned = 5_000;

/** A contact of a list. */
export interface ListedRow extends ContactRow {
  bytes: number;
  /** Cursor that continues the list after this contact. */
  position: string;
}

/**
 * Returns a page of unmerged contacts with their sizes in bytes, newest first or as a list of changes. An external id also finds the survivor of a
 * merged contact that had it.
 *
 * A frequent string or tag is found by scanning the first contacts, a rare one by the index over the others. `offset 0` keeps the planner from
 * replacing that index scan; only a page of its rows is kept at a time. The statement is planned for its values each time: a generic plan could read
 * a million rows for a value with four matches.
 */
export async function selectContacts(
  sql: Sql,
  accountId: string,
  { q, tag, phones, email, external_id }: ContactFilter,
  bounds: PageBounds<string> | ChangePage,
): Promise<ListedRow[]> {
  const values: (string | number | string[] | Date)[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const account = bind(accountId, 'uuid');
  const order = 'since' in bounds ? longestUnchangedFirst(bounds, bind) : newestFirst(bounds, bind);
  const among = `account_id = ${account} and merged_into is null and ${order.starts}
    ${phones === undefined ? '' : `and phone in (${phones.map((phone) => bind(phone, 'text')).join()})`}
    ${email === undefined ? '' : `and email = ${bind(email, 'text')}`}
    ${external_id === undefined ? '' : `and id = any(array(${idsByExternalId(account, bind(external_id, 'text'))}))`}`;
  const most = bind(bounds.limit, 'integer');
  if (q === undefined && tag === undefined) {
    const text = `select ${columnNames} from contacts where ${among} order by ${order.by} limit ${most}`;
    return await sql.unsafe<ListedRow[]>(withinPage(text, order), values as never[], { prepare: true });
  }
  const matches = `${q === undefined ? '' : containing(q, bind)}
    ${tag === undefined ? '' : `and tags @> ${bind([tag], 'text[]')}`}`;
  const text = `
    with first as materialized (
      select ${columnNames}, search from contacts where ${among} order by ${order.by} limit ${firstScanned}
    ), near as materialized (
      select ${columnNames} from first where true ${matches} order by ${order.by} limit ${most}
    ), others as materialized (
      select * from (
        select ${columnNames} from contacts
        where ${among} ${matches} and ${order.isBehindFirst} and (select count(*) from near) < ${most}
        offset 0
      ) as found order by ${order.by} limit ${most}
    )
    select * from near union all select * from others order by ${order.by} limit ${most}`;
  return await sql.unsafe<ListedRow[]>(withinPage(text, order), values as never[]);
}

type Bind = (value: string | number | string[] | Date, type: string) => string;

/** Order of a list, as SQL. */
interface ListOrder {
  by: string;
  /** Condition for rows from the start of the page. */
  starts: string;
  /** Condition for rows after those in `first`. */
  isBehindFirst: string;
  /** Expression for the position of a row of `page`. */
  position: string;
}

function newestFirst({ after }: PageBounds<string>, bind: Bind): ListOrder {
  return {
    by: 'id desc',
    starts: after === undefined ? 'true' : `id < ${bind(after, 'uuid')}`,
    isBehindFirst: 'id < (select id from first order by id limit 1)',
    position: 'page.id',
  };
}

function longestUnchangedFirst({ since, until, after }: ChangePage, bind: Bind): ListOrder {
  const within = `updated_at >= ${bind(since, 'timestamptz')} and updated_at <= ${bind(until, 'text')}::timestamptz`;
  const behind = after && `(updated_at, id) > (${bind(after.at, 'text')}::timestamptz, ${bind(after.id, 'uuid')})`;
  return {
    by: 'updated_at, id',
    starts: behind === undefined ? within : `${within} and ${behind}`,
    isBehindFirst: '(updated_at, id) > (select updated_at, id from first order by updated_at desc, id desc limit 1)',
    position: changePositionText('page'),
  };
}

/** Does the same as `withinPageBytes` of the kit, for a statement in a string. */
const withinPage = (page: string, { by, position }: ListOrder) => `
  select *, ${position} as position from (
    select *, sum(least(bytes, ${maxPageBytes}))
      over (order by ${by} rows between unbounded preceding and 1 preceding) as bytes_before
    from (
      select *, octet_length(fields::text) + octet_length(array_to_string(tags, ',')) as bytes from (${page}) as page
    ) as page
  ) as page
  where coalesce(bytes_before, 0) <= ${maxPageBytes} order by ${by}`;

/** Returns whether more than 1,000 contacts have an external id, including merged ones. */
export async function hasManyOf(sql: Sql, accountId: string, externalId: string): Promise<boolean> {
  const rows = await sql`
    select from contacts where account_id = ${accountId} and external_id = ${externalId} offset 1000 limit 1`;
  return rows.length > 0;
}

const idsByExternalId = (account: string, externalId: string) =>
  `select coalesce(e.merged_into, e.id) from contacts e where e.account_id = ${account} and e.external_id = ${externalId}`;

/**
 * Returns the condition that finds a string in `search`. If it ends in digits, like an id, a phone number or the part before an email's @, only the
 * digits use the index. The rest occurs in nearly every contact and takes 100 times as long.
 */
function containing(q: string, bind: Bind): string {
  const digits = /\d{5,7}(?=(@[^@]*)?$)/.exec(q);
  if (!digits) return `and search like '%' || lower(${bind(escapeLike(q), 'text')}) || '%'`;
  return `and search like ${bind(`%${digits[0]}%`, 'text')} and position(lower(${bind(q, 'text')}) in search) > 0`;
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
