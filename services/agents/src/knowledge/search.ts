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

/** A search result; `exact` marks a matching FAQ whose text is to be sent verbatim. */
export type FoundPassage = SearchResult & { exact: boolean };

/** Maximum number of terms of a query that are ranked, the rarest. */
const maxTerms = 24;
/** Maximum number of terms that an FAQ must have, each of them, to be answered exactly. */
const maxAllTerms = 200;
/** Maximum length of a query in code points, as it is searched: there are characters that stand for eighteen. */
const maxSearched = 1_000;
const hiragana = /^\p{Script=Hiragana}+$/u;
/** A character that is found within words: alone it asks for no answer. */
const single = /^(?!\p{ASCII})\p{L}\p{M}*$/u;
const maxExact = 5;
/** Maximum number of websites among the first results that have the same passage: with and without www., by http and by https. */
const maxTwins = 4;
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
      limit: maxTwins * limit,
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
  // A passage scores less than the weights of all terms together.
  const most = weights.reduce((sum, weight) => sum + weight, 1);
  const exactFound = exact.map((row) => toFound(row, most + row.score, true));
  const exactIds = new Set(exact.map((row) => row.source_id));
  const others = withoutTwins(found.filter((row) => !exactIds.has(row.source_id))).map((row) =>
    toFound(row, row.score, false),
  );
  return [...exactFound, ...others].slice(0, limit);
}

/** Returns each passage of websites once, where it is found first. What people wrote differs by its title as well. */
function withoutTwins(found: readonly FoundRow[]): FoundRow[] {
  const seen = new Set<string>();
  return found.filter(({ kind, heading_path, text }) => {
    if (kind !== 'website') return true;
    const passage = JSON.stringify([heading_path, text]);
    return !seen.has(passage) && seen.add(passage);
  });
}

const isKnown = ({ documentFrequency }: QueryTerm) => documentFrequency > 0;

/**
 * Returns the terms of a query that passages are ranked by, rarest first. Of a long question in Japanese parts in Hiragana alone come last: most are
 * endings and particles, and the rarest of them say nothing.
 */
function termsToRank(terms: readonly QueryTerm[]): QueryTerm[] {
  const known = terms.filter(isKnown);
  const isEnding = ({ term }: QueryTerm) => hiragana.test(term);
  const endingsLast = known.toSorted((one, other) => Number(isEnding(one)) - Number(isEnding(other)));
  const kept = new Set(endingsLast.slice(0, maxTerms));
  return known.filter((term) => kept.has(term));
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
