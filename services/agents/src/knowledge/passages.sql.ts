import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { Unreadable } from '@customer-platform/documents';
import {
  type Fragment,
  isInScope,
  type JsonValue,
  type Scope,
  type Sql,
  type WatchedRows,
} from '@customer-platform/service-kit';
import { comparableQuestion } from './comparable-question.ts';
import { indexedText } from './search-text.ts';
import type { SourceRow } from './sources.sql.ts';
import { textSearchConfiguration } from './text-search-configuration.ts';

/** A quotable piece of a source. */
export interface Passage {
  /** Index of the website's page; 0 for other kinds of sources. */
  page: number;
  /** Index of the passage in the page, from 0. */
  position: number;
  /** The headings above the passage, outermost first. */
  heading_path: string[];
  text: string;
}

/** Maximum passages that one statement writes. A passage may have a thousand bigrams, so indexing it takes milliseconds. */
const batchSize = 75;

/** Maximum passages of an account. Small requests can name large websites, and the search stores their text three times. */
const maxPassages = 1_000_000;
const full = `The knowledge is full; all sources together may have at most ${maxPassages.toLocaleString('en')} passages`;

/**
 * Replaces the passages of a source, or only those of `pages`. Throws Unreadable if the account would exceed 1,000,000 passages.
 * The transaction must hold the source's row lock. This function also locks the account's corpus statistics until the transaction ends.
 * `language` is the account's language. An FAQ's question and alternates are indexed with its passage.
 */
export async function replacePassages(
  tx: Sql,
  { accountId, sourceId, language }: { accountId: string; sourceId: string; language: string },
  passages: readonly Passage[],
  pages?: readonly number[],
): Promise<void> {
  await removePassages(tx, accountId, sourceId, pages);
  const [library] = await tx<{ passages: number }[]>`select passages from libraries where account_id = ${accountId}`;
  if (library!.passages + passages.length > maxPassages) throw new Unreadable(full);
  for (let from = 0; from < passages.length; from += batchSize)
    await insertPassages(tx, { accountId, sourceId, language }, passages.slice(from, from + batchSize));
}

/** Version of the terms by which passages are indexed. */
const wordsVersion = 1;

/** Passages prepared before this function yields to the event loop. Each takes up to 2 ms. */
const passagesPerYield = 20;

async function insertPassages(
  tx: Sql,
  { accountId, sourceId, language }: { accountId: string; sourceId: string; language: string },
  passages: readonly Passage[],
): Promise<void> {
  const [source] = await tx<Pick<SourceRow, 'kind' | 'title' | 'alternates' | 'collection_id' | 'active'>[]>`
    select kind, title, alternates, collection_id, active from sources
    where account_id = ${accountId} and id = ${sourceId}`;
  if (!source) throw new Error('cannot insert passages because their source does not exist');
  const isFaq = source.kind === 'faq';
  const asked = isFaq ? [source.title, ...(source.alternates ?? [])] : [];
  const compared = new Set(asked.map((question) => comparableQuestion(question, language)));
  const questions = isFaq ? [...compared].filter((question) => question !== '') : null;
  const titled = isFaq ? '' : source.title;
  const rows: unknown[] = [];
  for (const passage of passages) {
    if (rows.length % passagesPerYield === passagesPerYield - 1) await yieldToEventLoop();
    const heading = indexedText([titled, ...passage.heading_path].join('\n'), language, 'weighted');
    rows.push({ ...passage, heading, body: indexedText(passage.text, language) });
  }
  await tx`
    with added as (
      insert into passages
        (account_id, source_id, page, position, heading_path, text, collection_id, active, questions, words, words_version)
      select ${accountId}, ${sourceId}, page, position, heading_path, text, ${source.collection_id}, ${source.active},
        ${questions}::text[],
        setweight(search_words(configuration, ${tx.json({ ...indexedText(asked.join('\n'), language, 'weighted') })}), 'A')
          || setweight(search_words(configuration, heading), 'B') || setweight(search_words(configuration, body), 'D'),
        ${wordsVersion}
      from jsonb_to_recordset(${tx.json(rows as JsonValue)})
          as passage (page smallint, "position" integer, heading_path text[], text text, heading jsonb, body jsonb),
        cast(${textSearchConfiguration(language)}::text as regconfig) as configuration
      returning words
    ), counted as (
      update libraries set passages = passages + (select count(*) from added) where account_id = ${accountId}
    )
    insert into words as w (account_id, word, passages)
    select ${accountId}, word, passages from (${documentFrequencies(tx, 'added')}) as more
    on conflict (account_id, word) do update set passages = w.passages + excluded.passages`;
}

/** Deletes the passages of a source, or only those of `pages`. Subtracts them from the corpus statistics and document frequencies. */
export async function removePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  pages?: readonly number[],
): Promise<void> {
  await remove(tx, accountId, sourceId, pages === undefined ? tx`` : tx`and page = any(${[...pages]}::smallint[])`);
}

/** Does the same for the passages that match the condition `which`. */
async function remove(tx: Sql, accountId: string, sourceId: string, which: Fragment): Promise<void> {
  await tx`
    insert into libraries (account_id, passages) values (${accountId}, 0)
    on conflict (account_id) do update set passages = libraries.passages`;
  await tx`
    with removed as (
      delete from passages where account_id = ${accountId} and source_id = ${sourceId} ${which} returning words
    ), counted as (
      update libraries set passages = passages - (select count(*) from removed) where account_id = ${accountId}
    )
    merge into words w using (${documentFrequencies(tx, 'removed')}) as less
    on w.account_id = ${accountId} and w.word = less.word
    when matched and w.passages <= less.passages then delete
    when matched then update set passages = w.passages - less.passages`;
}

/** Passages that an older version of the search indexed. */
export const oldWords: WatchedRows = { name: 'passages', due: null, where: (sql) => sql`words_version = 0` };

/** Locks a source with passages that an older version indexed. Skips sources that another transaction has locked. */
export async function lockSourceOfOldWords(
  tx: Sql,
  scope: Scope,
): Promise<Pick<SourceRow, 'account_id' | 'id'> | undefined> {
  const [source] = await tx<Pick<SourceRow, 'account_id' | 'id'>[]>`
    select s.account_id, s.id from passages p join sources s on s.account_id = p.account_id and s.id = p.source_id
    where p.words_version = 0 ${isInScope(tx, scope, tx`p.account_id`)} limit 1 for update of s skip locked`;
  return source;
}

/** Indexes a batch of a locked source's outdated passages again. Only one batch, since the account's other writers wait for its locks. */
export async function renewWords(tx: Sql, source: { accountId: string; sourceId: string; language: string }) {
  const { accountId, sourceId } = source;
  const old = await tx<Passage[]>`
    select page, position, heading_path, text from passages
    where account_id = ${accountId} and source_id = ${sourceId} and words_version = 0
    order by page, position limit ${batchSize}`;
  const last = old.at(-1);
  if (!last) return;
  const which = tx`and words_version = 0 and (page, "position") <= (${last.page}::int, ${last.position}::int)`;
  await remove(tx, accountId, sourceId, which);
  await insertPassages(tx, source, old);
}

/** Document frequencies of these rows: the number of rows that contain each word. */
const documentFrequencies = (tx: Sql, rows: string) => tx`
  select word, count(*)::integer as passages from ${tx(rows)}, unnest(tsvector_to_array(words)) as word
  group by word order by word`;

/** Copies the source's collection and activity to its passages. The transaction must hold the source's row lock. */
export async function movePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  { collection_id, active }: { collection_id: number; active: boolean },
): Promise<void> {
  let last = { page: -1, position: -1 };
  for (let moved = batchSize; moved === batchSize; ) {
    const rows = await tx<Pick<Passage, 'page' | 'position'>[]>`
      with next as (
        select page, "position" from passages
        where account_id = ${accountId} and source_id = ${sourceId} and (page, "position") > (${last.page}::int, ${last.position}::int)
        order by page, "position" limit ${batchSize}
      ), moved as (
        update passages p set collection_id = ${collection_id}, active = ${active} from next
        where p.account_id = ${accountId} and p.source_id = ${sourceId} and p.page = next.page and p."position" = next."position"
      )
      select page, "position" from next order by page, "position"`;
    moved = rows.length;
    last = rows.at(-1) ?? last;
  }
}
