import { contactColumns, idsOfContact, joinContact } from '@customer-platform/contact-copy';
import type { MessageStatus } from '@customer-platform/contracts/messaging';
import { type Fragment, type PageBounds, type Sql, withinPageBytes } from '@customer-platform/service-kit';
import { type MessageRow, messageColumns, progressOfAttempts } from './messages.sql.ts';

/** Filters of a list; undefined ones do not apply. */
export interface MessageFilter {
  reference: string | undefined;
  status: MessageStatus | undefined;
  /** Part of a reference, an address or the contact's name. */
  q: string | undefined;
  /** A contact that is not merged. Messages of contacts merged into it match too. */
  contact: string | undefined;
}

/** Newest messages scanned for a text before its indexes are used. */
const maxScanned = 2_000;

/**
 * Returns messages after the message `after`, newest first, with their sizes and up to the size of a page. Limits the page before joining other
 * tables. For a contact, limits it per id. For a text, searches the newest messages first, then all that the indexes find.
 */
export async function listMessageRows(
  sql: Sql,
  accountId: string,
  filter: MessageFilter,
  { after, limit }: PageBounds<string>,
): Promise<(MessageRow & { bytes: number })[]> {
  const { reference, status, q, contact } = filter;
  const among: Fragment = sql`
    m.account_id = ${accountId}
    ${reference === undefined ? sql`` : sql`and m.reference = ${reference}`}
    ${status === undefined ? sql`` : sql`and m.status = ${status}`}
    ${after === undefined ? sql`` : sql`and m.id < ${after}`}`;
  const page = (further: Fragment) => sql`
    select m.* from messages m where ${among} ${further} order by m.id desc limit ${limit}`;
  const pageOfContact = (id: string) => sql`
    select m.* from (${idsOfContact(sql, accountId, id)}) as named
    cross join lateral (${page(sql`and m.contact_id = named.id ${q === undefined ? sql`` : sql`and ${says(sql, q)}`}`)}) as m
    order by m.id desc limit ${limit}`;
  const byText = q === undefined ? page(sql``) : pageOfText(sql, among, accountId, { q, limit });
  const cut = contact === undefined ? byText : pageOfContact(contact);
  const sized: Fragment = sql`select m.*, octet_length(m.steps::text) as bytes from (${cut}) as m`;
  return await sql<(MessageRow & { bytes: number })[]>`
    select ${messageColumns(sql)}, ${progressOfAttempts(sql)} as attempts, m.bytes
    from (${withinPageBytes(sql, sized, sql`id desc`)}) as m ${joinContact(sql, 'm')} order by m.id desc`;
}

const pattern = (q: string) => `%${q.replace(/[\\%_]/g, '\\$&')}%`;

/** Matches message `m` if its reference, its given address, or its contact's current name or phone contains the text. */
const says = (sql: Sql, q: string) => sql`(m.search like lower(${pattern(q)}) or exists (
  select 1 from (select m.account_id, m.contact_id) as x ${joinContact(sql, 'x')}
  cross join lateral (select ${contactColumns(sql)}) as shown
  where lower(shown.contact_name) like lower(${pattern(q)}) or shown.contact_phone like lower(${pattern(q)})))`;

const pageOfText = (sql: Sql, among: Fragment, accountId: string, { q, limit }: { q: string; limit: number }) => sql`
  with newest as materialized (
    select m.* from messages m where ${among} order by m.id desc limit ${maxScanned}
  ), near as materialized (
    select m.* from newest m where ${says(sql, q)} order by m.id desc limit ${limit}
  ), people as materialized (
    select id from contacts c where c.account_id = ${accountId} and c.merged_into is null
      and (lower(c.name) like lower(${pattern(q)}) or c.phone like lower(${pattern(q)})) and (select count(*) from near) < ${limit}
  ), older as materialized (
    (select m.* from messages m
     where ${among} and m.search like lower(${pattern(q)}) and m.id < (select id from newest order by id limit 1)
       and (select count(*) from near) < ${limit}
     order by m.id desc limit ${limit})
    union
    (select m.* from (
       select id from people union
       select c.id from people join contacts c on c.account_id = ${accountId} and c.merged_into = people.id
     ) as named
     cross join lateral (
       select m.* from messages m where ${among} and m.contact_id = named.id and m.id < (select id from newest order by id limit 1)
       order by m.id desc limit ${limit}) as m
     order by m.id desc limit ${limit})
  )
  select * from near union all (select * from older order by id desc limit ${limit}) order by id desc limit ${limit}`;
