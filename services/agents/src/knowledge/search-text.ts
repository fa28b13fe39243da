import { firstCodePoints } from '@customer-platform/contracts/core';

/** The searchable form of a text, the same for stored text and queries. */
export interface SearchText {
  /** Text in scripts with spaces, for PostgreSQL's parser and the stemmer of the account's language. */
  words: string;
  /** The words with accents. `plain` has the same words without accents, at the same indexes. */
  accented: string[];
  plain: string[];
  /** Runs of characters in scripts without spaces, and Korean words. Each character includes its marks. */
  runs: string[][];
}

/** Characters of scripts without spaces, and of Korean, where endings follow a word without a space. */
const run =
  /(?:(?=[\p{L}\p{Nl}\p{M}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Hang}])+/gu;
/** A character with up to 16 marks, in Khmer and Burmese also the letter below. PostgreSQL limits a lexeme to 2 KiB. */
const character = /[\s\S](?:[\u17d2\u1039]\p{L}|\p{M}){0,16}/gu;
const korean = /\p{sc=Hang}/u;
const chinese = /\p{scx=Han}/u;
const word = /[\p{L}\p{M}]+/gu;

/** Replacements for letters that Unicode normalization does not decompose. */
const baseLetters: Record<string, string> = {
  ...{ đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ø: 'o', ŧ: 't', æ: 'ae', œ: 'oe', þ: 'th' },
  '\u0640': '', // stretches Arabic words
};
const undecomposed = /[đðħıłøŧæœþ\u0640]/gu;
/** Accents and vowel points. Marks that form another letter do not match: those of й and が, and vowel signs in Thai or Hindi. */
const accents = /(?!и\u0306)([\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Hebr}\p{sc=Arab}])\p{M}+/gu;

/** Compatibility-normalizes and case-folds a text and removes invisible characters. Folds İ and ı by Turkish rules for tr and az. */
export function foldedText(text: string, language: string): string {
  const visible = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}+/gu, '');
  const lower = /^(?:tr|az)\b/i.test(language) ? visible.toLocaleLowerCase('tr') : visible.toLowerCase();
  return lower.replaceAll('ß', 'ss').replaceAll('ς', 'σ').replaceAll('i\u0307', 'i').normalize('NFKC');
}

/** Returns the searchable form of a text, of at most `most` code points. `language` is the account's language. */
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
    .replace(undecomposed, (letter) => baseLetters[letter]!)
    .normalize('NFC');
}

/** A stored text, as input of the SQL function search_words (migrations/0022). `grams` is a tsvector. */
export type IndexedText = Pick<SearchText, 'words'> & { plain: string; grams: string };

/** Returns the index terms of a stored text. Only weighted text gets positions, since positions of all text would take half the index. */
export function indexedText(text: string, language: string, weighted?: 'weighted'): IndexedText {
  const { words, plain, runs } = searchText(text, language);
  const grams = new Set(runs.flatMap((each) => [...bigramsOf(each), ...each]));
  return {
    words,
    plain: plain.join(' '),
    grams: Array.from(grams, (gram) => (weighted ? `${gram}:1` : gram)).join(' '),
  };
}

/** Returns the bigrams to search for, and the characters that may be words by themselves, such as 茶 in 茶は. */
export function searchedGrams({ runs }: SearchText): string[] {
  const isChinese = (each = '') => chinese.test(each);
  const alone = (each: string[]) =>
    each.filter((one, at) => !each[1] || (isChinese(one) && !isChinese(each[at - 1]) && !isChinese(each[at + 1])));
  return [...new Set(runs.flatMap((each) => [...bigramsOf(each), ...alone(each)]))];
}

const bigramsOf = (each: readonly string[]) => each.slice(1).map((next, index) => each[index]! + next);
