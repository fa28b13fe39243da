import type { SearchResult } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import { candidateQueries, maxCandidates } from './candidate-queries.ts';
import { comparableQuestion, hasSymbolsOf } from './comparable-question.ts';
import { type FoundRow, selectExactAnswers, selectFoundPassages, selectSearchWords } from './search.sql.ts';
import { textSearchConfiguration } from './text-search-configuration.ts';

/** A passage that was found; `exact`: an FAQ that matches and whose answer, its text, is to be sent as it is written. */
export type FoundPassage = SearchResult & { exact: boolean };

/** Most words of a query that count, the rarest. */
const maxWords = 24;
const maxExact = 5;

/**
 * Finds the passages that answer a question best: active sources that were read, of these collections where they are given, best
 * first, at most `limit`, each as long as a piece or an FAQ's answer may be. FAQs to be answered exactly whose question, or another way to
 * ask it, is the query or has all its words, with their symbols, come before all else. Words that every text has do not count, and a
 * rare word counts more than frequent ones. The cost is bounded: of words that very many passages have, those that come first in the
 * store are weighed.
 */
export async function searchPassages(
  sql: Sql,
  account: { id: string; language: string },
  { query, collections = [], limit }: { query: string; collections?: readonly number[] | undefined; limit: number },
): Promise<FoundPassage[]> {
  const configuration = textSearchConfiguration(account.language);
  const question = comparableQuestion(query);
  const known = await selectSearchWords(sql, account.id, configuration, query, { question, collections });
  const words = known.words.filter(({ passages }) => passages > 0).slice(0, maxWords);
  const worths = words.map(({ passages }) => worthOf(passages, known.passages));
  const hasAllWords = words.length > 0 && words.length === known.words.length;
  const weighing = { words: words.map((word) => word.query), worths, most: maxCandidates };

  const within = (queries: string[]) => {
    const places = known.collectionKeys.join(' | ');
    return places === '' ? queries : queries.map((each) => `(${places}) & (${each})`);
  };
  const asked = question === '' ? [] : [known.questionKey];
  if (hasAllWords) asked.push([known.faqKey, ...words.map(({ key }) => key)].join(' & '));
  const { queries, frequent } = candidateQueries(words, known.passages);
  const allWords = hasAllWords ? weighing.words.join(' & ') : null;
  const [possible, found] = await Promise.all([
    selectExactAnswers(sql, account.id, within(asked), weighing, { configuration, question, allWords }),
    selectFoundPassages(sql, account.id, { queries: within(queries), frequent: within(frequent) }, weighing, limit),
  ]);
  const exact = possible
    .filter(({ is_asked, ways }) => is_asked || ways.some((way) => hasSymbolsOf(way, query)))
    .slice(0, Math.min(limit, maxExact));
  // A passage weighs less than all words are worth together.
  const most = worths.reduce((sum, worth) => sum + worth, 1);
  const answers = exact.map((row) => toFound(row, most + row.score, true));
  const exactIds = new Set(exact.map((row) => row.source_id));
  const others = found.filter((row) => !exactIds.has(row.source_id)).map((row) => toFound(row, row.score, false));
  return [...answers, ...others].slice(0, limit);
}

/** What a word is worth: the more, the fewer passages have it. Above 0. */
function worthOf(passages: number, all: number): number {
  return Math.log(1 + (Math.max(all, passages) - passages + 0.5) / (passages + 0.5));
}

function toFound(row: FoundRow, score: number, exact: boolean): FoundPassage {
  const source = { id: row.source_id, kind: row.kind, title: row.title };
  return { text: row.text, score, heading_path: row.heading_path, source, exact };
}
