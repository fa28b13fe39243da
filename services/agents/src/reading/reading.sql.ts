import type { SourceKind } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import type { SourceRow } from '../knowledge/sources.sql.ts';
import type { KnownPage, PageState } from './website.ts';

/**
 * A source that this process has claimed. `content`, `tries` and `status` identify the claim: a change of the source resets `tries`
 * to 0 and, if there is new content, increments `content`. The status is processing if a user waits for it; otherwise it is read on its
 * schedule.
 */
export interface Claim
  extends Pick<
    SourceRow,
    'account_id' | 'id' | 'kind' | 'status' | 'body' | 'url' | 'page_urls' | 'file_type' | 'content' | 'tries'
  > {
  reading_since: Date;
}

/**
 * Claims, until `leasedUntil`, the source of one of `kinds` that has been due longest, preferably of an account that is not in `served`.
 * Skips the sources that this process is reading, and accounts at their maximum. The time that reading may take begins with the first
 * attempt.
 */
export async function claimSource(
  sql: Sql,
  now: Date,
  leasedUntil: Date,
  {
    kinds,
    passedOver,
    served,
  }: {
    kinds: readonly SourceKind[];
    passedOver: { running: readonly string[]; accounts: readonly string[] };
    served: readonly string[];
  },
): Promise<Claim | undefined> {
  const [claim] = await sql<Claim[]>`
    with due as (
      select account_id, id from sources
      where due_at <= ${now} and kind = any(${[...kinds]}::text[])
        and id <> all(${[...passedOver.running]}::uuid[]) and account_id <> all(${[...passedOver.accounts]}::uuid[])
      order by account_id = any(${[...served]}::uuid[]), due_at limit 1 for update skip locked
    )
    update sources s set due_at = ${leasedUntil}, tries = s.tries + 1, 
      reading_since = case when s.tries = 0 then ${now} else coalesce(s.reading_since, ${now}) end
    from due where s.account_id = due.account_id and s.id = due.id
    returning s.account_id, s.id, s.kind, s.status, s.body, s.url, s.page_urls, s.file_type, s.content, s.tries,
      s.reading_since`;
  return claim;
}

const isStill = (sql: Sql, { account_id, id, content, tries, status }: Claim) => sql`
  account_id = ${account_id} and id = ${id} and content = ${content} and tries = ${tries} and status = ${status}`;

/** Renews the lease of a source. Returns false if the claim is no longer valid. */
export async function renewLease(sql: Sql, claim: Claim, leasedUntil: Date): Promise<boolean> {
  const result = await sql`
    update sources set due_at = ${leasedUntil} where ${isStill(sql, claim)} and reading_since is not null`;
  return result.count === 1;
}

/** Releases the claim of a source whose reading was stopped by us; another process may claim it at once. */
export async function giveBack(sql: Sql, claim: Claim, now: Date): Promise<void> {
  await sql`
    update sources set due_at = ${now}, tries = tries - 1, reading_since = null where ${isStill(sql, claim)}`;
}

/** Columns that the end of a reading sets. */
export type EndedReading = Pick<SourceRow, 'status' | 'error' | 'due_at' | 'tries' | 'updated_at' | 'read_content'>;

export async function endReading(tx: Sql, { account_id, id }: Claim, ended: EndedReading): Promise<void> {
  await tx`
    update sources set ${tx({ ...ended, reading_since: null })}
    where account_id = ${account_id} and id = ${id}`;
}

/** Returns one part of a file's bytes, from 0; undefined after the last. */
export async function selectFilePart(sql: Sql, { account_id, id }: Claim, part: number): Promise<Buffer | undefined> {
  const [row] = await sql<{ bytes: Buffer }[]>`
    select bytes from files where account_id = ${account_id} and source_id = ${id} and part = ${part}`;
  return row?.bytes;
}

/** Returns the pages of a website as last read, with the size of what is stored of each. */
export async function selectKnownPages(sql: Sql, { account_id, id }: Claim): Promise<KnownPage[]> {
  return await sql<KnownPage[]>`
    select p.position, p.url, p.etag, p.last_modified, p.sha256, kept.passages, kept.bytes
    from pages p cross join lateral (
      select count(*)::int as passages,
        coalesce(sum(octet_length(text) + octet_length(array_to_string(heading_path, ''))), 0)::int as bytes
      from passages where account_id = p.account_id and source_id = p.source_id and page = p.position) as kept
    where p.account_id = ${account_id} and p.source_id = ${id} order by p.position`;
}

export async function replacePages(tx: Sql, { account_id, id }: Claim, pages: readonly PageState[]): Promise<void> {
  await tx`delete from pages where account_id = ${account_id} and source_id = ${id}`;
  await tx`
    insert into pages (account_id, source_id, position, url, etag, last_modified, sha256)
    select ${account_id}, ${id}, position, url, etag, last_modified, decode(sha256, 'hex')
    from unnest(${pages.map(({ position }) => position)}::smallint[], ${pages.map(({ url }) => url)}::text[],
      ${pages.map(({ etag }) => etag)}::text[], ${pages.map(({ last_modified }) => last_modified)}::text[],
      ${pages.map(({ sha256 }) => sha256.toString('hex'))}::text[]) as page (position, url, etag, last_modified, sha256)`;
}
