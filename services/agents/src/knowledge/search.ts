import type { SearchResult } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import { candidateQueries, maxCandidates, weightOf } from './candidate-queries.ts';
import { comparableQuestion, hasSymbolsOf } from './comparable-question.ts';
import { type FoundRow, selectCorpusStats, selectExactAnswers, selectFoundPassages } from './search.sql.ts';
import { textSearchConfiguration } from './text-search-configuration.ts';

/** A passage that was found; `exact`: an FAQ that matches and whose answer, its text, is to be sent as it is written. */
export type FoundPassage = SearchResult & { exact: boolean };

/** Most terms of a query that count, the rarest. */
const maxTerms = 24;
const maxExact = 5;

/**
 * Finds the passages that answer a question best: active sources that were read, of these collections where they are given, best
 * first, at most `limit`, each as long as a piece or an FAQ's answer may be. FAQs to be answered exactly with the query as a question, or
 * with all its terms and symbols in one, come before all else. Stop words do not count, and a rare term counts more than frequent ones.
 * The cost is bounded: of terms that very many passages have, the passages that come first in the store are ranked.
 */
export async function searchPassages(
  sql: Sql,
  account: { id: string; language: string },
  { query, collections = [], limit }: { query: string; collections?: readonly number[] | undefined; limit: number },
): Promise<FoundPassage[]> {
  const configuration = textSearchConfiguration(account.language);
  const question = comparableQuestion(query);
  const stats = await selectCorpusStats(sql, account.id, configuration, { query, question, collections });
  const terms = stats.terms.filter(({ documentFrequency }) => documentFrequency > 0).slice(0, maxTerms);
  const weights = terms.map(({ documentFrequency }) => weightOf(documentFrequency, stats.corpusSize));
  const hasAllTerms = terms.length > 0 && terms.length === stats.terms.length;
  const ranking = { terms: terms.map((term) => term.query), weights, most: maxCandidates };

  const within = (queries: string[]) => {
    const places = stats.collectionKeys.join(' | ');
    return places === '' ? queries : queries.map((each) => `(${places}) & (${each})`);
  };
  const asked = question === '' ? [] : [stats.questionKey];
  if (hasAllTerms) asked.push([stats.faqKey, ...terms.map(({ key }) => key)].join(' & '));
  const { queries, frequent } = candidateQueries(terms, stats.corpusSize);
  const allTerms = hasAllTerms ? ranking.terms.join(' & ') : null;
  const [possible, found] = await Promise.all([
    selectExactAnswers(sql, account.id, within(asked), ranking, { configuration, question, allTerms }),
    selectFoundPassages(sql, account.id, { queries: within(queries), frequent: within(frequent) }, ranking, limit),
  ]);
  const exact = possible
    .filter(({ is_asked, ways }) => is_asked || ways.some((way) => hasSymbolsOf(way, query)))
    .slice(0, Math.min(limit, maxExact));
  const toFound = (row: FoundRow, score: number, isExact: boolean): FoundPassage => {
    const source = { id: row.source_id, kind: row.kind, title: row.title };
    return { text: row.text, score, heading_path: row.heading_path, source, exact: isExact };
  };
  // A passage scores less than the weights of all terms together.
  const most = weights.reduce((sum, weight) => sum + weight, 1);
  const answers = exact.map((row) => toFound(row, most + row.score, true));
  const exactIds = new Set(exact.map((row) => row.source_id));
  const others = found.filter((row) => !exactIds.has(row.source_id)).map((row) => toFound(row, row.score, false));
  return [...answers, ...others].slice(0, limit);
}
