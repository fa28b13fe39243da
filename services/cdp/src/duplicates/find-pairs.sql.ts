import { domainToUnicode } from 'node:url';
import { duplicateScores } from '@customer-platform/contracts/cdp';
import type { Fragment, Sql } from '@customer-platform/service-kit';

/** Up to so many contacts that share a value are all paired with each other. Of more, each is paired with the oldest only. */
const pairedWithEach = 50;

/** Returns a string for comparison, case-folded by Unicode's table, which the database's locale does not use. */
const folded = (sql: Sql, text: Fragment) => sql`casefold((${text}) collate "pg_unicode_fast")`;

const domain = (sql: Sql) => sql`split_part(c.email, '@', -1)`;

/** A domain as written in emails, and in the single spelling that is compared. */
interface Domain {
  written: string;
  compared: string;
}

/** Returns the internationalized domains in an account's emails: `xn--exmple-cua.de` is compared as `exämple.de`. */
async function selectDomains(sql: Sql, accountId: string): Promise<Domain[]> {
  const rows = await sql<{ written: string }[]>`
    select distinct ${domain(sql)} as written from contacts c
    where c.account_id = ${accountId} and c.merged_into is null and ${domain(sql)} ~ '[^ -~]|xn--'`;
  return rows.map(({ written }) => ({ written, compared: domainToUnicode(written) || written }));
}

/** Selects the values that contacts can share, one row per reason. A name only counts together with the email's domain. */
const shareable = (sql: Sql, accountId: string, domains: readonly Domain[]) => {
  const { external_id, email, phone, name } = duplicateScores;
  return sql`
    select c.id, shared.score, shared.reason, shared.value from contacts c
    left join unnest(${domains.map(({ written }) => written)}::text[], ${domains.map(({ compared }) => compared)}::text[])
      as spelled (written, compared) on spelled.written = ${domain(sql)}
    cross join lateral (
      select ${folded(sql, sql`split_part(c.email, '@', 1) || '@' || coalesce(spelled.compared, ${domain(sql)})`)} as email,
        btrim(regexp_replace(${folded(sql, sql`normalize(c.name, NFKC)`)}, '\\s+', ' ', 'g')) as name
    ) as plain
    cross join lateral (values
      (${external_id}::smallint, 'external_id', c.external_id),
      (${email}::smallint, 'email', plain.email),
      (${phone}::smallint, 'phone', c.phone),
      (${name}::smallint, 'name', case when plain.name <> '' then plain.name || ', ' || split_part(plain.email, '@', -1) end)
    ) as shared (score, reason, value)
    where c.account_id = ${accountId} and c.merged_into is null and shared.value is not null`;
};

/**
 * Writes pairs of contacts that share a value to the temporary table `found_pairs`, each with its strongest reason. Takes no locks, so this long part
 * of a run blocks no other transaction.
 */
export async function selectPairs(tx: Sql, accountId: string) {
  const domains = await selectDomains(tx, accountId);
  await tx`set local work_mem = '64MB'`;
  await tx`
    create temporary table found_pairs (
      older_id uuid, newer_id uuid, score smallint, reason text, detail text
    ) on commit drop`;
  await tx`
    insert into found_pairs
    select distinct on (older_id, newer_id) older.id as older_id, newer.id as newer_id, score, reason, value
    from (
      select score, reason, value, array_agg(id order by id) as ids from (${shareable(tx, accountId, domains)}) as shareable
      group by score, reason, value having count(*) > 1
    ) as sharing
    cross join lateral unnest(case when cardinality(ids) <= ${pairedWithEach} then ids else ids[1:1] end)
      with ordinality as older (id, position)
    cross join lateral unnest(ids[older.position::int + 1:]) as newer (id)
    order by older_id, newer_id, score desc`;
  await tx`analyze found_pairs`;
}

/**
 * Replaces the account's open pairs by `found_pairs`. Dismissed pairs return only for a stronger reason; merged ones stay. The caller must hold
 * `lockPairs`.
 */
export async function replaceOpenPairs(tx: Sql, accountId: string) {
  const isPerson = (id: Fragment) => tx`
    select from contacts c where c.account_id = ${accountId} and c.id = ${id} and c.merged_into is null`;
  await tx`
    delete from found_pairs f
    where not exists (${isPerson(tx`f.older_id`)}) or not exists (${isPerson(tx`f.newer_id`)})`;
  await tx`
    delete from duplicates d
    where d.account_id = ${accountId} and d.status = 'open'
      and not exists (select from found_pairs f where f.older_id = d.older_id and f.newer_id = d.newer_id)`;
  await tx`
    update duplicates d set status = 'open', reason = f.reason, detail = f.detail, score = f.score
    from found_pairs f
    where d.account_id = ${accountId} and d.older_id = f.older_id and d.newer_id = f.newer_id
      and (d.status = 'open' and (d.reason, d.detail) <> (f.reason, f.detail)
        or d.status = 'dismissed' and d.score < f.score)`;
  await tx`
    insert into duplicates (account_id, older_id, newer_id, reason, detail, score, status)
    select ${accountId}, f.older_id, f.newer_id, f.reason, f.detail, f.score, 'open' from found_pairs f
    where not exists (
      select from duplicates d where d.account_id = ${accountId} and d.older_id = f.older_id and d.newer_id = f.newer_id)
    order by f.newer_id, f.older_id`;
}
