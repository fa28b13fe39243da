import type { SearchResult } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import { candidateQueries, maxCandidates, weightOf } from './candidate-queries.ts';
import { askedForms, hasSymbolsOf } from './comparable-question.ts';
import {
  type ExactRow,
  type FoundRow,
  type QueryTerm,
  selectCorpusStats,
  selectExactAnswers,
  selectFoundPassages,
  selectMatching,
} from './search.sql.ts';
import { indexedText, searchText } from './search-text.ts';
import { textSearchConfiguration } from './text-search-configuration.ts';

/** A search result. `exact` marks a matching FAQ whose text must be sent verbatim. */
export type FoundPassage = SearchResult & { exact: boolean };

/** Maximum number of terms used for ranking. The rarest terms are used. */
const maxTerms = 24;
/** Maximum number of query terms for an exact answer, since the FAQ must contain each of them. */
const maxAllTerms = 200;
/** Maximum length of a normalized query in code points. Normalization can expand one character to 18. */
const maxSearched = 1_000;
const hiragana = /^\p{Script=Hiragana}+$/u;
/** A single character that occurs inside words. Such a query alone gets no exact answer. */
const single = /^(?!\p{ASCII})\p{L}\p{M}*$/u;
const maxExact = 5;
/** Maximum copies expected of a passage: with and without www., over http and https. */
const maxCopies = 4;
/** Maximum number of questions whose symbols are compared with the query's symbols. The best matching FAQs come first. */
const maxWays = 100;

/**
 * Returns at most `limit` passages that match a query, best first. It searches active sources that have been read, in `collections` if any
 * are given. FAQs with `answer_exactly` come first if one of their questions equals the query or has all its terms and symbols.
 * Stop words do not count, and rare terms weigh more. To bound the cost, only the first stored passages of a very frequent term are
 * ranked.
 */
export async function searchPassages(
  sql: Sql,
  account: { id: string; language: string },
  { query, collections = [], limit }: { query: string; collections?: readonly number[] | undefined; limit: number },
): Promise<FoundPassage[]> {
  const { language } = account;
  const configuration = textSearchConfiguration(language);
  const questions = askedForms(query, language);
  const searched = searchText(query, language, maxSearched);
  const stats = await selectCorpusStats(sql, account.id, configuration, { searched, questions, collections });
  const terms = termsToRank(stats.terms);
  const isQuestion = stats.terms.length <= maxAllTerms && stats.terms.some(({ term }) => !single.test(term));
  const hasAllTerms = isQuestion && stats.terms.every(isKnown);
  const forms = terms.flatMap((term) => {
    const weight = weightOf(term.documentFrequency, stats.corpusSize);
    return term.forms.map((form) => ({ query: form.query, weight: weight * form.worth }));
  });
  const weights = forms.map(({ weight }) => weight);
  const ranking = { terms: forms.map((form) => form.query), weights, most: maxCandidates };

  const within = (queries: string[]) => {
    const collectionQuery = stats.collectionKeys.join(' | ');
    return collectionQuery === '' ? queries : queries.map((each) => `(${collectionQuery}) & (${each})`);
  };
  const asked = [...stats.questionKeys];
  if (hasAllTerms) asked.push([stats.faqKey, ...stats.terms.map(({ key }) => key)].join(' & '));
  const { queries, frequent } = candidateQueries(terms, stats.corpusSize);
  const [possible, found] = await Promise.all([
    selectExactAnswers(sql, account.id, ranking, { queries: within(asked), questions }),
    selectFoundPassages(sql, account.id, ranking, {
      queries: within(queries),
      frequent: within(frequent),
      limit: maxCopies * limit,
    }),
  ]);
  const compared = hasAllTerms ? possible.flatMap((row) => (row.is_asked ? [] : row.ways)) : [];
  const ways = [...new Set(compared)].map((text) => ({ ...indexedText(text, language), text }));
  const allTerms = stats.terms.map((term) => `(${term.forms.map((form) => form.query).join(' | ')})`).join(' & ');
  const matching = new Set(await selectMatching(sql, configuration, ways, allTerms));
  const matched = possible.map((row) => ({ ...row, ways: row.ways.filter((way) => matching.has(way)) }));
  const exact = exactOf(matched, query).slice(0, limit);
  const toFound = (row: FoundRow, score: number, isExact: boolean): FoundPassage => {
    const source = { id: row.source_id, kind: row.kind, title: row.title };
    return { text: row.text, score, heading_path: row.heading_path, source, exact: isExact };
  };
  // Upper bound of a passage's score, so that exact answers rank above all other results.
  const most = weights.reduce((sum, weight) => sum + weight, 1);
  const exactFound = exact.map((row) => toFound(row, most + row.score, true));
  const exactIds = new Set(exact.map((row) => row.source_id));
  const others = withoutCopies(found.filter((row) => !exactIds.has(row.source_id))).map((row) =>
    toFound(row, row.score, false),
  );
  return [...exactFound, ...others].slice(0, limit);
}

/** Keeps only the best-ranked copy of each website passage. Articles, FAQs and files also differ by title, so all of them stay. */
function withoutCopies(found: readonly FoundRow[]): FoundRow[] {
  const seen = new Set<string>();
  return found.filter(({ kind, heading_path, text }) => {
    if (kind !== 'website') return true;
    const passage = JSON.stringify([heading_path, text]);
    return !seen.has(passage) && seen.add(passage);
  });
}

const isKnown = ({ documentFrequency }: QueryTerm) => documentFrequency > 0;

/**
 * Returns the query terms used for ranking, rarest first. If there are too many, terms in Hiragana alone are dropped first: most are
 * Japanese endings and particles without meaning, even the rare ones.
 */
function termsToRank(terms: readonly QueryTerm[]): QueryTerm[] {
  const known = terms.filter(isKnown);
  const isEnding = ({ term }: QueryTerm) => hiragana.test(term);
  const endingsLast = known.toSorted((one, other) => Number(isEnding(one)) - Number(isEnding(other)));
  const kept = new Set(endingsLast.slice(0, maxTerms));
  return known.filter((term) => kept.has(term));
}

/** Returns the FAQs that answer the query exactly. One of their questions equals the query, or has its terms and symbols. */
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
