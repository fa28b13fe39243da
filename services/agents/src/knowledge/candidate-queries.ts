/** A term of a query that passages of the account have. */
export interface SearchTerm {
  /** Its key in the index. */
  key: string;
  /** The term as a tsquery. */
  query: string;
  /** Number of passages that have it. */
  documentFrequency: number;
}

/** Most passages that are ranked for one search. */
export const maxCandidates = 500;
/** Most of them that are ranked for rare terms alone: the others have several terms. */
const maxRare = 250;
/** Most index entries that are combined to find passages with several terms. */
const maxEntries = 10_000;
/** The same for two terms, which take less. */
const maxEntriesOfTwo = 40_000;
/** Share of all passages above which a term is frequent. */
const frequentShare = 0.1;
/** Most terms that are combined. */
const maxCombined = 7;

/** Queries of keys, in the order in which passages are looked for until there are enough. */
export interface CandidateQueries {
  queries: string[];
  /** Looked for only where the others found few: long lists of passages with low weights. */
  frequent: string[];
}

/** Inverse document frequency (BM25's): the weight of a term that `documentFrequency` of `corpusSize` passages have. Above 0. */
export function weightOf(documentFrequency: number, corpusSize: number): number {
  return Math.log(1 + (Math.max(corpusSize, documentFrequency) - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

/**
 * The passages to rank: all that have a rare term; those that have several of the others; then, term by term from the rarest on, the
 * rest. `terms` are ordered by frequency, the rarest first; `corpusSize` is how many passages the account has.
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
  const shares = combined.map(({ documentFrequency }) => documentFrequency / Math.max(corpusSize, 1));
  let least = 2;
  while (least < keys.length && corpusSize * shareWith(shares, least) > maxCandidates - found) least++;
  for (let count = least; count <= keys.length && count >= Math.max(2, least - 1); count--) {
    queries.push(withAtLeast(keys, count));
  }
  const isFrequent = ({ documentFrequency }: SearchTerm) =>
    documentFrequency > corpusSize * frequentShare && documentFrequency > maxEntries;
  for (const term of rest) if (!isFrequent(term)) queries.push(term.key);
  return { queries, frequent: rest.filter(isFrequent).map(({ key }) => key) };
}

/** The share of passages that have at least `count` of terms with these shares, as if terms were independent. */
function shareWith(shares: readonly number[], count: number): number {
  let exactly = [1];
  for (const share of shares) {
    exactly = [...exactly, 0].map((chance, had) => chance * (1 - share) + (exactly[had - 1] ?? 0) * share);
  }
  return exactly.slice(count).reduce((sum, chance) => sum + chance, 0);
}

/** A query for passages that have at least `count` of these keys. */
function withAtLeast(keys: readonly string[], count: number): string {
  if (count === 1) return keys.join(' | ');
  const choices = keys.slice(0, keys.length - count + 1).map((key, index) => {
    return `${key} & (${withAtLeast(keys.slice(index + 1), count - 1)})`;
  });
  return choices.map((choice) => `(${choice})`).join(' | ');
}
