/** A word of a query that passages of the account have: its key in the index, and how many passages have it. */
export interface SearchWord {
  key: string;
  /** The word as a tsquery. */
  query: string;
  passages: number;
}

/** Most passages that are weighed for one search. */
export const maxCandidates = 500;
/** Most of them that are weighed for one rare word alone: the others have several words. */
const maxRare = 250;
/** Most entries of the index that are put together to find passages with several words. */
const maxEntries = 10_000;
/** The same where the words are only two, which takes less. */
const maxEntriesOfTwo = 40_000;
/** From this share of all passages on a word is frequent. */
const frequentShare = 0.1;
/** Most words that are put together so. */
const maxCombined = 7;

/** Queries of keys, in the order in which passages are looked for until there are enough. */
export interface CandidateQueries {
  queries: string[];
  /** Looked for only where the others found few: long lists, of passages that are worth little. */
  frequent: string[];
}

/**
 * Which passages are worth to be weighed: all that have a rare word; those that have several of the others; then, word by word from the
 * rarest on, what there is. `all` is how many passages the account has.
 */
export function candidateQueries(words: readonly SearchWord[], all: number): CandidateQueries {
  const rare: string[] = [];
  let found = 0;
  for (const { key, passages } of words) {
    if (found + passages > maxRare) break;
    rare.push(key);
    found += passages;
  }
  const queries = rare.length === 0 ? [] : [rare.join(' | ')];
  const rest = words.slice(rare.length);

  const combined: SearchWord[] = [];
  let entries = 0;
  for (const word of rest.slice(0, maxCombined)) {
    entries += word.passages;
    if (entries > (combined.length < 2 ? maxEntriesOfTwo : maxEntries)) break;
    combined.push(word);
  }
  const keys = combined.map(({ key }) => key);
  const shares = combined.map(({ passages }) => passages / Math.max(all, 1));
  let least = 2;
  while (least < keys.length && all * shareWith(shares, least) > maxCandidates - found) least++;
  for (let count = least; count <= keys.length && count >= Math.max(2, least - 1); count--) {
    queries.push(withAtLeast(keys, count));
  }
  const isFrequent = ({ passages }: SearchWord) => passages > all * frequentShare && passages > maxEntries;
  for (const word of rest) if (!isFrequent(word)) queries.push(word.key);
  return { queries, frequent: rest.filter(isFrequent).map(({ key }) => key) };
}

/** The share of passages that have at least `count` of words with these shares, as if each came by itself. */
function shareWith(shares: readonly number[], count: number): number {
  let exactly = [1];
  for (const share of shares) {
    exactly = [...exactly, 0].map((chance, had) => chance * (1 - share) + (exactly[had - 1] ?? 0) * share);
  }
  return exactly.slice(count).reduce((sum, chance) => sum + chance, 0);
}

/** A query for what has at least `count` of these keys. */
function withAtLeast(keys: readonly string[], count: number): string {
  if (count === 1) return keys.join(' | ');
  const choices = keys.slice(0, keys.length - count + 1).map((key, index) => {
    return `${key} & (${withAtLeast(keys.slice(index + 1), count - 1)})`;
  });
  return choices.map((choice) => `(${choice})`).join(' | ');
}
