/** A query term that occurs in passages of the account. */
export interface SearchTerm {
  /** The term's index keys, as a tsquery. */
  key: string;
  /** Number of passages that contain the term. */
  documentFrequency: number;
}

/** Maximum number of passages ranked per search. */
export const maxCandidates = 500;
/** Maximum number of passages ranked for rare terms alone. The rest of `maxCandidates` contain several terms. */
const maxRare = 250;
/** Maximum number of index entries combined to find passages with several terms. */
const maxEntries = 10_000;
/** The same limit for two terms, which cost less. */
const maxEntriesOfTwo = 40_000;
/** Fraction of all passages above which a term is frequent. */
const frequentFraction = 0.1;
/** Maximum number of terms combined. */
const maxCombined = 7;

/** Queries for index keys, run in order until they find enough passages. */
export interface CandidateQueries {
  queries: string[];
  /** Queries that run only if the others find few passages, since they have long posting lists and low weights. */
  frequent: string[];
}

/** Inverse document frequency of BM25: the weight of a term that `documentFrequency` of `corpusSize` passages contain. Always above 0. */
export function weightOf(documentFrequency: number, corpusSize: number): number {
  return Math.log(1 + (Math.max(corpusSize, documentFrequency) - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

/**
 * Returns queries for the passages to rank. They find passages with a rare term, then with several of the other terms, then with each
 * remaining term, rarest first. `terms` are ordered rarest first; `corpusSize` is the number of the account's passages.
 */
export function candidateQueries(terms: readonly SearchTerm[], corpusSize: number): CandidateQueries {
  const rare: string[] = [];
  let found = 0;
  for (const { key, documentFrequency } of terms) {
    if (found + documentFrequency > maxRare) break;
    rare.push(key);
    found += documentFrequency;
  }
  const queries = rare.length === 0 ? [] : [rare.join(' | ')];
  const rest = terms.slice(rare.length);

  const combined: SearchTerm[] = [];
  let entries = 0;
  for (const term of rest.slice(0, maxCombined)) {
    entries += term.documentFrequency;
    if (entries > (combined.length < 2 ? maxEntriesOfTwo : maxEntries)) break;
    combined.push(term);
  }
  const keys = combined.map(({ key }) => key);
  const fractions = combined.map(({ documentFrequency }) => documentFrequency / Math.max(corpusSize, 1));
  let least = 2;
  while (least < keys.length && corpusSize * fractionWith(fractions, least) > maxCandidates - found) least++;
  for (let count = least; count <= keys.length && count >= Math.max(2, least - 1); count--) {
    queries.push(withAtLeast(keys, count));
  }
  const isFrequent = ({ documentFrequency }: SearchTerm) =>
    documentFrequency > corpusSize * frequentFraction && documentFrequency > maxEntries;
  for (const term of rest) if (!isFrequent(term)) queries.push(term.key);
  return { queries, frequent: rest.filter(isFrequent).map(({ key }) => key) };
}

/** Estimates the fraction of passages with at least `count` of the terms. `fractions` has each term's share; terms count as independent. */
function fractionWith(fractions: readonly number[], count: number): number {
  let exactly = [1];
  for (const fraction of fractions) {
    exactly = [...exactly, 0].map((chance, had) => chance * (1 - fraction) + (exactly[had - 1] ?? 0) * fraction);
  }
  return exactly.slice(count).reduce((sum, chance) => sum + chance, 0);
}

/** Returns a query for passages with at least `count` of these keys. */
function withAtLeast(keys: readonly string[], count: number): string {
  if (count === 1) return keys.join(' | ');
  const choices = keys.slice(0, keys.length - count + 1).map((key, index) => {
    return `${key} & (${withAtLeast(keys.slice(index + 1), count - 1)})`;
  });
  return choices.map((choice) => `(${choice})`).join(' | ');
}
