import type { Sql } from '@customer-platform/service-kit';
import { comparableQuestion } from './comparable-question.ts';
import { textSearchConfiguration } from './text-search-configuration.ts';

/** A piece of a source that can be quoted. */
export interface Passage {
  /** The position of the website's page, 0 elsewhere. */
  page: number;
  /** Its place in the page, from 0. */
  position: number;
  /** The headings above it, outermost first. */
  heading_path: string[];
  text: string;
}

/**
 * Gives a source these passages in place of those of `pages`, or of all that it has. The transaction holds the source's row, and from
 * here on the account's passages. `language` is the account's; an FAQ's question and its alternates are searched with its passage.
 */
export async function replacePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  passages: readonly Passage[],
  language: string,
  pages?: readonly number[],
): Promise<void> {
  await removePassages(tx, accountId, sourceId, pages);
  const [source] = await tx<SearchedSource[]>`
    select kind, title, alternates, collection_id, active from sources
    where account_id = ${accountId} and id = ${sourceId}`;
  if (!source) throw new Error('passages were given to a source that there is not');
  await insertPassages(tx, accountId, sourceId, source, passages, textSearchConfiguration(language));
}

/** Removes the passages of a source, or those of `pages`, and takes them out of the account's corpus stats and document frequencies. */
export async function removePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  pages?: readonly number[],
): Promise<void> {
  await tx`
    insert into libraries (account_id, passages) values (${accountId}, 0)
    on conflict (account_id) do update set passages = libraries.passages`;
  await tx`
    with removed as (
      delete from passages where account_id = ${accountId} and source_id = ${sourceId}
        ${pages === undefined ? tx`` : tx`and page = any(${[...pages]}::smallint[])`}
      returning words
    ), counted as (
      update libraries set passages = passages - (select count(*) from removed) where account_id = ${accountId}
    )
    merge into words w using (${documentFrequencies(tx, 'removed')}) as less
    on w.account_id = ${accountId} and w.word = less.word
    when matched and w.passages <= less.passages then delete
    when matched then update set passages = w.passages - less.passages`;
}

/** The parts of a source that its passages are searched by besides their own text. */
interface SearchedSource {
  kind: string;
  title: string;
  alternates: string[] | null;
  collection_id: number;
  active: boolean;
}

async function insertPassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  source: SearchedSource,
  passages: readonly Passage[],
  configuration: string,
): Promise<void> {
  const isFaq = source.kind === 'faq';
  const asked = isFaq ? [source.title, ...(source.alternates ?? [])] : [];
  const questions = isFaq ? [...new Set(asked.map(comparableQuestion))].filter((question) => question !== '') : null;
  const titled = isFaq ? '' : source.title;
  const rows = passages.map(({ page, position, heading_path, text }) => ({
    page,
    position,
    heading_path,
    text,
    headings: heading_path.join('\n'),
  }));
  await tx`
    with added as (
      insert into passages
        (account_id, source_id, page, position, heading_path, text, collection_id, active, questions, words)
      select ${accountId}, ${sourceId}, page, position, heading_path, text, ${source.collection_id}, ${source.active},
        ${questions}::text[],
        setweight(to_tsvector(configuration, normalize(${asked.join('\n')}, NFKC)), 'A')
          || setweight(to_tsvector(configuration, normalize(${titled} || e'\n' || headings, NFKC)), 'B')
          || setweight(to_tsvector(configuration, normalize(text, NFKC)), 'D')
      from jsonb_to_recordset(${tx.json(rows)})
          as passage (page smallint, "position" integer, heading_path text[], headings text, text text),
        cast(${configuration}::text as regconfig) as configuration
      returning words
    ), counted as (
      update libraries set passages = passages + (select count(*) from added) where account_id = ${accountId}
    )
    insert into words as w (account_id, word, passages)
    select ${accountId}, word, passages from (${documentFrequencies(tx, 'added')}) as more
    on conflict (account_id, word) do update set passages = w.passages + excluded.passages`;
}

/** In how many of these rows each word is. */
const documentFrequencies = (tx: Sql, rows: string) => tx`
  select word, count(*)::integer as passages from ${tx(rows)}, unnest(tsvector_to_array(words)) as word
  group by word order by word`;

/** Has the passages of a source be where it is, in use or not. The transaction holds the source's row. */
export async function movePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  { collection_id, active }: { collection_id: number; active: boolean },
): Promise<void> {
  await tx`
    update passages set collection_id = ${collection_id}, active = ${active}
    where account_id = ${accountId} and source_id = ${sourceId}`;
}
