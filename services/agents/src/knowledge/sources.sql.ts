import type { FileType, Refresh, SourceKind, SourceStatus } from '@customer-platform/contracts/agents';
import {
  countSerially,
  type Fragment,
  type PageBounds,
  type Sql,
  withinPageBytes,
} from '@customer-platform/service-kit';

/** A source with its collection's name. Columns that belong to other kinds are null. */
export interface SourceRow {
  account_id: string;
  id: string;
  kind: SourceKind;
  title: string;
  collection_id: number;
  collection_name: string;
  status: SourceStatus;
  error: string;
  active: boolean;
  updated_at: Date;
  body: string | null;
  alternates: string[] | null;
  answer_exactly: boolean | null;
  url: string | null;
  refresh: Refresh | null;
  crawl: 'page' | 'sitemap' | null;
  /** Normalized URLs of the pages to read. */
  page_urls: string[] | null;
  file_type: FileType | null;
  size_bytes: number | null;
  /** Version of the content to read, incremented whenever the content changes. */
  content: number;
  /** The version of `content` that was last read completely; null before the first reading. */
  read_content: number | null;
  due_at: Date | null;
  /** Start of the reading's deadline, if the source is due to be read. */
  reading_since: Date | null;
  tries: number;
}

const columns = (tx: Sql) => tx`
  s.account_id, s.id, s.kind, s.title, s.collection_id, c.name as collection_name, s.status, s.error, s.active,
  s.updated_at, s.body, s.alternates, s.answer_exactly, s.url, s.refresh, s.crawl, s.page_urls, s.file_type, s.size_bytes,
  s.content, s.read_content, s.due_at, s.reading_since, s.tries`;

const joinCollection = (tx: Sql) => tx`join collections c on c.account_id = s.account_id and c.id = s.collection_id`;

/** Returns a source, or undefined if the account has none with this id. */
export async function selectSource(tx: Sql, accountId: string, id: string, lock = tx``) {
  const [row] = await tx<SourceRow[]>`
    select ${columns(tx)} from sources s ${joinCollection(tx)} where s.account_id = ${accountId} and s.id = ${id} ${lock}`;
  return row;
}

/** Locks the source for update and reads it. Returns undefined if the account has none with this id. */
export const lockSource = (tx: Sql, accountId: string, id: string) =>
  selectSource(tx, accountId, id, tx`for update of s`);

/** Returns the sources after id `after`, newest first. Includes their sizes; returns at most a page's bytes. */
export async function listSourceRows(
  tx: Sql,
  accountId: string,
  { kind, collectionId }: { kind?: SourceKind | undefined; collectionId?: number | undefined },
  { after, limit }: PageBounds<string>,
): Promise<(SourceRow & { bytes: number })[]> {
  const page: Fragment = tx`
    select ${columns(tx)}, coalesce(octet_length(to_json(s.body)::text), 0) + coalesce(octet_length(to_json(s.alternates)::text), 0)
      + coalesce(octet_length(to_json(s.page_urls)::text), 0) as bytes
    from sources s ${joinCollection(tx)} where s.account_id = ${accountId}
      ${kind === undefined ? tx`` : tx`and s.kind = ${kind}`}
      ${collectionId === undefined ? tx`` : tx`and s.collection_id = ${collectionId}`}
      ${after === undefined ? tx`` : tx`and s.id < ${after}`}
    order by s.id desc limit ${limit}`;
  return await tx<(SourceRow & { bytes: number })[]>`${withinPageBytes(tx, page, tx`id desc`)}`;
}

/** Columns of a new source, without columns that belong to other kinds. */
export type NewSource = Pick<SourceRow, 'kind' | 'title' | 'collection_id' | 'active'> &
  Partial<SourceRow> & {
    /** Normalized URL, the same for every spelling. */
    url_key?: string;
    sha256?: Buffer;
  };

/**
 * Inserts a source that is due for reading at once. Returns its id, or undefined if another source has its title (articles, FAQs), URL or
 * bytes.
 */
export async function insertSource(
  tx: Sql,
  accountId: string,
  source: NewSource,
  now: Date,
): Promise<string | undefined> {
  const times = { created_at: now, updated_at: now, due_at: now, reading_since: now };
  const row = { ...source, ...times, account_id: accountId, status: 'processing' };
  const [added] = await tx<{ id: string }[]>`
    insert into sources ${tx(row as never)} on conflict do nothing returning id`;
  return added?.id;
}

/** Writes the mutable columns of a source. Throws if another source has its title (constraint sources_title). */
export async function updateSourceRow(tx: Sql, accountId: string, row: SourceRow): Promise<void> {
  await tx`
    update sources set title = ${row.title}, collection_id = ${row.collection_id}, active = ${row.active},
      body = ${row.body}, alternates = ${row.alternates}, answer_exactly = ${row.answer_exactly},
      page_urls = ${row.page_urls}, refresh = ${row.refresh}, status = ${row.status}, error = ${row.error},
      content = ${row.content}, due_at = ${row.due_at}, reading_since = ${row.reading_since}, tries = ${row.tries},
      updated_at = ${row.updated_at}
    where account_id = ${accountId} and id = ${row.id}`;
}

/** Deletes a source with its files and pages. The caller must have deleted its passages. */
export async function deleteSourceRow(tx: Sql, accountId: string, id: string): Promise<void> {
  await tx`delete from sources where account_id = ${accountId} and id = ${id}`;
}

/** Returns the title of the file with these bytes. */
export async function titleOfFile(tx: Sql, accountId: string, sha256: Buffer): Promise<string | undefined> {
  const [row] = await tx<{ title: string }[]>`
    select title from sources where account_id = ${accountId} and kind = 'file' and sha256 = ${sha256}`;
  return row?.title;
}

/** Bytes of a file's part. A statement needs several times as much memory as the bytes it carries. */
const filePartBytes = 1_048_576;

/** Counts the parts of an account's files. Other uploads of the account wait until this transaction ends. */
export async function countFileParts(tx: Sql, accountId: string): Promise<number> {
  return await countSerially(tx, `files ${accountId}`, tx`files where account_id = ${accountId}`);
}

/** Stores the bytes of a file, part by part. */
export async function insertFile(tx: Sql, accountId: string, sourceId: string, bytes: Buffer): Promise<void> {
  for (let part = 0; part * filePartBytes < bytes.length; part++) {
    const some = bytes.subarray(part * filePartBytes, (part + 1) * filePartBytes);
    await tx`
      insert into files (account_id, source_id, part, bytes) values (${accountId}, ${sourceId}, ${part}, ${some})`;
  }
}
