import { firstCodePoints } from '@customer-platform/contracts/core';

/** A text as it is searched, made alike of what is stored and of what is asked. */
export interface SearchText {
  /** What is written with spaces, for PostgreSQL's parser and the stemmer of the account's language. */
  words: string;
  /** Those of its words that have accents, and in the same places the same without them. */
  accented: string[];
  plain: string[];
  /** Runs of characters of languages written without spaces, and of Korean words; each character with its marks. */
  runs: string[][];
}

/** Scripts that are written without spaces, and Korean, whose endings follow a word without one. */
const run =
  /(?:(?=[\p{L}\p{Nl}\p{M}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Hang}])+/gu;
/** A character of a run with its marks, in Khmer and Burmese with the letter below it. PostgreSQL takes no lexeme of more than two kilobytes. */
const character = /[\s\S](?:[\u17d2\u1039]\p{L}|\p{M}){0,16}/gu;
const korean = /\p{sc=Hang}/u;
const chinese = /\p{scx=Han}/u;
const word = /[\p{L}\p{M}]+/gu;

/** Letters that Unicode does not take apart. */
const alike: Record<string, string> = {
  ...{ đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ø: 'o', ŧ: 't', æ: 'ae', œ: 'oe', þ: 'th' },
  '\u0640': '', // stretches Arabic words
};
const likeOthers = /[đðħıłøŧæœþ\u0640]/gu;
/** Accents and vowel points, but not what makes another letter: the marks of й, of が, and of vowels in Thai or Hindi. */
const accents = /(?!и\u0306)([\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Hebr}\p{sc=Arab}])\p{M}+/gu;

/** Returns a text compatibility-normalised, case-folded and without what is invisible; Turkish and Azerbaijani have their own İ and ı. */
export function foldedText(text: string, language: string): string {
  const visible = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}+/gu, '');
  const lower = /^(?:tr|az)\b/i.test(language) ? visible.toLocaleLowerCase('tr') : visible.toLowerCase();
  return lower.replaceAll('ß', 'ss').replaceAll('ς', 'σ').replaceAll('i\u0307', 'i').normalize('NFKC');
}

/** Returns what is searched of a text, of at most so many code points; `language` is the account's. */
export function searchText(text: string, language: string, most?: number): SearchText {
  const folded = foldedText(text, language);
  const searched = most === undefined ? folded : firstCodePoints(folded, most);
  const runs = (searched.match(run) ?? []).map((each) => each.match(character)!);
  const words = searched.replace(run, (each) => (korean.test(each) ? each : ' '));
  const accented: string[] = [];
  const plain: string[] = [];
  for (const each of words.match(word) ?? []) {
    const bare = withoutAccents(each);
    if (bare === each || bare === '') continue;
    accented.push(each);
    plain.push(bare);
  }
  return { words, accented, plain, runs };
}

function withoutAccents(text: string): string {
  if (/^[a-z]*$/.test(text)) return text;
  return text
    .normalize('NFD')
    .replace(accents, '$1')
    .replace(likeOthers, (letter) => alike[letter]!)
    .normalize('NFC');
}

/** A stored text, for search_words of migrations/0022: `grams` is a tsvector. */
export type IndexedText = Pick<SearchText, 'words'> & { plain: string; grams: string };

/** Returns what a stored text is found by: bigrams and single characters too. One that is weighted needs places; of others they would take half the index. */
export function indexedText(text: string, language: string, weighted?: 'weighted'): IndexedText {
  const { words, plain, runs } = searchText(text, language);
  const grams = new Set(runs.flatMap((each) => [...bigramsOf(each), ...each]));
  return {
    words,
    plain: plain.join(' '),
    grams: Array.from(grams, (gram) => (weighted ? `${gram}:1` : gram)).join(' '),
  };
}

/** Returns the bigrams to look for, and the characters that may be words by themselves, as 茶 in 茶は. */
export function searchedGrams({ runs }: SearchText): string[] {
  const isChinese = (each = '') => chinese.test(each);
  const alone = (each: string[]) =>
    each.filter((one, at) => !each[1] || (isChinese(one) && !isChinese(each[at - 1]) && !isChinese(each[at + 1])));
  return [...new Set(runs.flatMap((each) => [...bigramsOf(each), ...alone(each)]))];
}

const bigramsOf = (each: readonly string[]) => each.slice(1).map((next, index) => each[index]! + next);
