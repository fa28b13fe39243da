import type { SearchResult } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import { candidateQueries, maxCandidates, weightOf } from './candidate-queries.ts';
import { comparableQuestion, hasSymbolsOf } from './comparable-question.ts';
import {
  type ExactRow,
  type FoundRow,
  selectCorpusStats,
  selectExactAnswers,
  selectFoundPassages,
} from './search.sql.ts';
import { textSearchConfiguration } from './text-search-configuration.ts';

/** A search result; `exact` marks a matching FAQ whose text is to be sent verbatim. */
export type FoundPassage = SearchResult & { exact: boolean };

/** Maximum number of terms of a query that count, the rarest. */
const maxTerms = 24;
const maxExact = 5;
/** Maximum number of ways of asking whose symbols are compared with the query's, of the FAQs that match best. */
const maxWays = 100;

/**
 * Returns the passages that match a query best, best first, at most `limit`, from active sources that were read, of these collections
 * if any are given. FAQs to be answered exactly come first if one of their questions is the query or has all its terms and symbols.
 * Stop words do not count; rare terms weigh more than frequent ones. The cost is bounded: of a very frequent term only the passages
 * that are stored first are ranked.
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
    const collectionQuery = stats.collectionKeys.join(' | ');
    return collectionQuery === '' ? queries : queries.map((each) => `(${collectionQuery}) & (${each})`);
  };
  const asked = question === '' ? [] : [stats.questionKey];
  if (hasAllTerms) asked.push([stats.faqKey, ...terms.map(({ key }) => key)].join(' & '));
  const { queries, frequent } = candidateQueries(terms, stats.corpusSize);
  const allTerms = hasAllTerms ? ranking.terms.join(' & ') : null;
  const [possible, found] = await Promise.all([
    selectExactAnswers(sql, account.id, ranking, { queries: within(asked), configuration, question, allTerms }),
    selectFoundPassages(sql, account.id, ranking, { queries: within(queries), frequent: within(frequent), limit }),
  ]);
  const exact = exactOf(possible, query).slice(0, limit);
  const toFound = (row: FoundRow, score: number, isExact: boolean): FoundPassage => {
    const source = { id: row.source_id, kind: row.kind, title: row.title };
    return { text: row.text, score, heading_path: row.heading_path, source, exact: isExact };
  };
  // A passage scores less than the weights of all terms together.
  const most = weights.reduce((sum, weight) => sum + weight, 1);
  const exactFound = exact.map((row) => toFound(row, most + row.score, true));
  const exactIds = new Set(exact.map((row) => row.source_id));
  const others = found.filter((row) => !exactIds.has(row.source_id)).map((row) => toFound(row, row.score, false));
  return [...exactFound, ...others].slice(0, limit);
}

/** Returns those of the FAQs that are to be answered exactly: one of their questions is the query, or has its symbols as well as its terms. */
function exactOf(possible: readonly ExactRow[], query: string): ExactRow[] {
  const hasSymbols = hasSymbolsOf(query);
  const exact: ExactRow[] = [];
  let left = maxWays;
  for (const row of possible) {
    const ways = row.is_asked ? [] : row.ways.slice(0, left);
    left -= ways.length;
    if (row.is_asked || ways.some(hasSymbols)) exact.push(row);
    if (exact.length === maxExact) break;
  }
  return exact;
}
