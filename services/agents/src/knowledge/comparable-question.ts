import { firstCodePoints } from '@customer-platform/contracts/core';

/** Variants of the same character: ’ and ' in "it's", an emoji with and without its variation selector. */
const singleQuotes = /[‘’‛ʼ`´]/g;
const invisible = /\u00ad|\u200b|\u2060|\ufe0e|\ufe0f|\ufeff/g;
/** Punctuation at the start of a sentence or quotation. */
const opening = /^(?:['"«»“”„‚‹›「」『』¿¡]|\.{2,})+/;
/** Punctuation at its end, except the inch mark of 5". */
const closing = /(?:[?!.,;:。、،؟؛।]|(?<![0-9])['"«»“”„‚‹›「」『』])$/;

/** Characters that are compared, twice as many as a question may have: there are characters that stand for eighteen. */
const maxCompared = 1_000;

/**
 * Returns a question in the form that is compared: lower case, single spaces, without punctuation that ends or encloses a sentence.
 * Other symbols stay (C++, C#, -5), and so does a text of punctuation alone. migrations/0004 does the same in SQL.
 */
export function comparableQuestion(text: string): string {
  const normal = firstCodePoints(text.normalize('NFKC'), maxCompared);
  const written = normal.toLowerCase().replace(singleQuotes, "'").replace(invisible, '');
  return spaced(written.replace(/\S+/g, unframed)) || spaced(written);
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
