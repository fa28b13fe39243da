import type { SourceKind } from '@customer-platform/contracts/agents';
import { type Claim, claimed, type DueRow, type DueTable, type Sql } from '@customer-platform/service-kit';
import type { SourceRow } from '../knowledge/sources.sql.ts';
import type { KnownPage, PageState } from './website.ts';

/** The queue of due sources. */
export const dueSources: DueTable = {
  name: 'sources',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'tries',
  error: 'last_error',
};

/** The queue of due sources of these kinds. */
export const dueSourcesOf = (kinds: readonly SourceKind[]): DueTable => ({
  ...dueSources,
  where: (sql) => sql`kind = any(${[...kinds]}::text[])`,
});

/**
 * A source that this process has claimed. `content`, `attempts` and `status` identify the claim: a change of the source resets `tries` to
 * 0 and, for new content, increments `content`. The status is `processing` if a user is waiting for the source. Otherwise its schedule
 * made it due.
 */
export interface ClaimedSource
  extends DueRow,
    Pick<SourceRow, 'id' | 'kind' | 'status' | 'body' | 'url' | 'page_urls' | 'file_type' | 'content'> {
  reading_since: Date;
}

/** Claims the sources that `due` selects. The first attempt starts the reading's deadline. */
export async function claimSources(sql: Sql, { due, now, leasedUntil }: Claim): Promise<ClaimedSource[]> {
  return await sql<ClaimedSource[]>`
    update sources s set ${claimed(sql, dueSources, leasedUntil)},
      reading_since = case when s.tries = 0 then ${now} else coalesce(s.reading_since, ${now}) end
    from (${due}) as due where s.account_id = due.account_id and s.id = due.id
    returning s.account_id, s.id, s.kind, s.status, s.body, s.url, s.page_urls, s.file_type, s.content, s.tries as attempts,
      s.reading_since, null as trace`;
}

/** Columns that the end of a reading sets. */
export type EndedReading = Pick<SourceRow, 'status' | 'error' | 'due_at' | 'tries' | 'updated_at' | 'read_content'>;

export async function endReading(tx: Sql, { account_id, id }: ClaimedSource, ended: EndedReading): Promise<void> {
  await tx`
    update sources set ${tx({ ...ended, reading_since: null })}
    where account_id = ${account_id} and id = ${id}`;
}

/** Returns a part of a file's bytes; undefined after the last part. Parts count from 0. */
export async function selectFilePart(
  sql: Sql,
  { account_id, id }: ClaimedSource,
  part: number,
): Promise<Buffer | undefined> {
  const [row] = await sql<{ bytes: Buffer }[]>`
    select bytes from files where account_id = ${account_id} and source_id = ${id} and part = ${part}`;
  return row?.bytes;
}

/** Returns the pages of a website as last read, with the number, size and digest of their stored passages. */
export async function selectKnownPages(sql: Sql, { account_id, id }: ClaimedSource): Promise<KnownPage[]> {
  return await sql<KnownPage[]>`
    select p.position, p.url, p.etag, p.last_modified, p.sha256, kept.*
    from pages p cross join lateral (
      select count(*)::int as passages,
        coalesce(sum(octet_length(text) + octet_length(array_to_string(heading_path, ''))), 0)::int as bytes,
        sha256(convert_to(coalesce(string_agg(
          array_to_string(heading_path, e'\\x1f') || e'\\x1e' || text, e'\\x1d' order by "position"), ''), 'UTF8')) as digest
      from passages where account_id = p.account_id and source_id = p.source_id and page = p.position) as kept
    where p.account_id = ${account_id} and p.source_id = ${id} order by p.position`;
}

export async function replacePages(
  tx: Sql,
  { account_id, id }: ClaimedSource,
  pages: readonly PageState[],
): Promise<void> {
  await tx`delete from pages where account_id = ${account_id} and source_id = ${id}`;
  await tx`
    insert into pages (account_id, source_id, position, url, etag, last_modified, sha256)
    select ${account_id}, ${id}, position, url, etag, last_modified, decode(sha256, 'hex')
    from unnest(${pages.map(({ position }) => position)}::smallint[], ${pages.map(({ url }) => url)}::text[],
      ${pages.map(({ etag }) => etag)}::text[], ${pages.map(({ last_modified }) => last_modified)}::text[],
      ${pages.map(({ sha256 }) => sha256.toString('hex'))}::text[]) as page (position, url, etag, last_modified, sha256)`;
}
