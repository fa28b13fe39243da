import { setImmediate as letOthersGoOn } from 'node:timers/promises';
import { Unreadable } from '@customer-platform/documents';
import {
  type Fragment,
  isOfScope,
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
  /** Position of the website's page; 0 for other kinds. */
  page: number;
  /** Index in the page, from 0. */
  position: number;
  /** The headings above it, outermost first. */
  heading_path: string[];
  text: string;
}

/** Passages that one statement writes: each of up to 2,000 of a source may have a thousand bigrams, and their indexes take milliseconds. */
const mostAtOnce = 75;

/** Passages of an account: small requests name large websites, and what they say is stored three times, to be searched. */
const maxPassages = 1_000_000;
const full = `The knowledge has no room for it: at most ${maxPassages.toLocaleString('en')} passages of all sources are kept`;

/**
 * Replaces the passages of a source, or those of `pages` only; throws Unreadable where the account would have more than a million.
 * The transaction must hold the source's row lock; from here on it also holds the account's corpus stats. `language` is the account's; an FAQ's
 * question and alternates are indexed with its passage.
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
  for (let from = 0; from < passages.length; from += mostAtOnce)
    await insertPassages(tx, { accountId, sourceId, language }, passages.slice(from, from + mostAtOnce));
}

/** Version of what passages are indexed by. */
const wordsVersion = 1;

/** Texts made ready between which others have their turn: each takes up to a millisecond or two. */
const textsInTurn = 20;

async function insertPassages(
  tx: Sql,
  { accountId, sourceId, language }: { accountId: string; sourceId: string; language: string },
  passages: readonly Passage[],
): Promise<void> {
  const [source] = await tx<Pick<SourceRow, 'kind' | 'title' | 'alternates' | 'collection_id' | 'active'>[]>`
    select kind, title, alternates, collection_id, active from sources
    where account_id = ${accountId} and id = ${sourceId}`;
  if (!source) throw new Error('passages were given to a source that there is not');
  const isFaq = source.kind === 'faq';
  const asked = isFaq ? [source.title, ...(source.alternates ?? [])] : [];
  const compared = new Set(asked.map((question) => comparableQuestion(question, language)));
  const questions = isFaq ? [...compared].filter((question) => question !== '') : null;
  const titled = isFaq ? '' : source.title;
  const rows: unknown[] = [];
  for (const passage of passages) {
    if (rows.length % textsInTurn === textsInTurn - 1) await letOthersGoOn();
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

/** Deletes the passages of a source, or those of `pages`, and subtracts them from the corpus stats and document frequencies. */
export async function removePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  pages?: readonly number[],
): Promise<void> {
  await remove(tx, accountId, sourceId, pages === undefined ? tx`` : tx`and page = any(${[...pages]}::smallint[])`);
}

/** The same of the passages that the condition `which` says. */
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

/** Passages whose words are of an older version. */
export const oldWords: WatchedRows = { name: 'passages', due: null, where: (sql) => sql`words_version = 0` };

/** Locks a source with passages whose words are of an older version, and that no one else holds. */
export async function lockSourceOfOldWords(
  tx: Sql,
  scope: Scope,
): Promise<Pick<SourceRow, 'account_id' | 'id'> | undefined> {
  const [source] = await tx<Pick<SourceRow, 'account_id' | 'id'>[]>`
    select s.account_id, s.id from passages p join sources s on s.account_id = p.account_id and s.id = p.source_id
    where p.words_version = 0 ${isOfScope(tx, scope, tx`p.account_id`)} limit 1 for update of s skip locked`;
  return source;
}

/** Indexes passages of a locked source anew whose words are of an older version, no more than one statement writes: others of the account wait. */
export async function renewWords(tx: Sql, source: { accountId: string; sourceId: string; language: string }) {
  const { accountId, sourceId } = source;
  const old = await tx<Passage[]>`
    select page, position, heading_path, text from passages
    where account_id = ${accountId} and source_id = ${sourceId} and words_version = 0
    order by page, position limit ${mostAtOnce}`;
  const last = old.at(-1);
  if (!last) return;
  const which = tx`and words_version = 0 and (page, "position") <= (${last.page}::int, ${last.position}::int)`;
  await remove(tx, accountId, sourceId, which);
  await insertPassages(tx, source, old);
}

/** Document frequencies of these rows: the number of rows that have each word. */
const documentFrequencies = (tx: Sql, rows: string) => tx`
  select word, count(*)::integer as passages from ${tx(rows)}, unnest(tsvector_to_array(words)) as word
  group by word order by word`;

/** Sets collection and activity of a source's passages to the source's. The transaction must hold the source's row lock. */
export async function movePassages(
  tx: Sql,
  accountId: string,
  sourceId: string,
  { collection_id, active }: { collection_id: number; active: boolean },
): Promise<void> {
  let last = { page: -1, position: -1 };
  for (let moved = mostAtOnce; moved === mostAtOnce; ) {
    const rows = await tx<Pick<Passage, 'page' | 'position'>[]>`
      with next as (
        select page, "position" from passages
        where account_id = ${accountId} and source_id = ${sourceId} and (page, "position") > (${last.page}::int, ${last.position}::int)
        order by page, "position" limit ${mostAtOnce}
      ), moved as (
        update passages p set collection_id = ${collection_id}, active = ${active} from next
        where p.account_id = ${accountId} and p.source_id = ${sourceId} and p.page = next.page and p."position" = next."position"
      )
      select page, "position" from next order by page, "position"`;
    moved = rows.length;
    last = rows.at(-1) ?? last;
  }
}
