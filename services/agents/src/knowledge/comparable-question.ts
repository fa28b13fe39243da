import { firstCodePoints } from '@customer-platform/contracts/core';
import { foldedText } from './search-text.ts';

/** Variants of the same character: ’ and ' in "it's". */
const singleQuotes = /[‘’‛ʼ`´]/g;
/** Punctuation at the start of a sentence or quotation. */
const opening = /^(?:['"«»“”„‚‹›「」『』¿¡]|\.{2,})+/;
/** Punctuation at its end, except the inch mark of 5". */
const closing = /(?:\p{Terminal_Punctuation}|(?<![0-9])['"«»“”„‚‹›「」『』])$/u;
const emoji = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]/gu;

/** Characters that are compared, twice as many as a question may have: there are characters that stand for eighteen. */
const maxCompared = 1_000;

/**
 * Returns a question in the form that is compared: case-folded, without what is invisible, with single spaces, without punctuation that ends or encloses a
 * sentence. Other symbols stay (C++, C#, -5), and so does a text of punctuation alone.
 */
export function comparableQuestion(text: string, language = ''): string {
  const written = firstCodePoints(foldedText(text, language), maxCompared).replace(singleQuotes, "'");
  return spaced(written.replace(/\S+/g, unframed)) || spaced(written);
}

/** Returns the forms of a query that an FAQ may have as its question: with its emoji and without. */
export function askedForms(query: string, language: string): string[] {
  const forms = [query, query.replace(emoji, ' ')].map((each) => comparableQuestion(each, language));
  return [...new Set(forms)].filter((form) => form !== '');
}

/** Strips mark by mark from the end: a pattern for all of them takes quadratic time if a letter follows. */
function unframed(word: string): string {
  const rest = word.replace(opening, '');
  let end = rest.length;
  while (end > 0 && closing.test(rest.slice(Math.max(0, end - 2), end))) end -= 1;
  return rest.slice(0, end);
}

function spaced(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Symbols that full-text search ignores but that change the meaning of a word: C++, €5, 50%, -v. */
const symbols = /[\p{Sm}\p{Sc}#%&*°]|^-(?=[\p{L}\p{N}])/gu;

/**
 * Returns a test whether a question has the symbols that the words of a query have: C matches neither C++ nor C#. Only valid of questions that have all
 * words of the query.
 */
export function hasSymbolsOf(query: string): (question: string) => boolean {
  const searched = Array.from(partsOf(query), (word) => ({ word, bare: withoutSymbols(word) }));
  return (question) => {
    const asked = partsOf(question);
    const bareAsked = new Set(Array.from(asked, withoutSymbols));
    return searched.every(({ word, bare }) => (bareAsked.has(bare) ? asked.has(word) : bare === word));
  };
}

const partsOf = (text: string) => new Set(comparableQuestion(text).split(' '));

function withoutSymbols(word: string): string {
  return word.replace(symbols, '');
}
