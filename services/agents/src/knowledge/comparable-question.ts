import { firstCodePoints } from '@customer-platform/contracts/core';
import { foldedText } from './search-text.ts';

/** Variants of the apostrophe, such as ’ in "it’s". */
const singleQuotes = /[‘’‛ʼ`´]/g;
/** Punctuation at the start of a sentence or quotation. */
const opening = /^(?:['"«»“”„‚‹›「」『』¿¡]|\.{2,})+/;
/** Punctuation at the end of a sentence or quotation, except the inch mark of 5". */
const closing = /(?:\p{Terminal_Punctuation}|(?<![0-9])['"«»“”„‚‹›「」『』])$/u;
const emoji = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]/gu;

/** Maximum code points compared, twice the limit of a question. Normalization can expand one character to 18. */
const maxCompared = 1_000;

/**
 * Normalizes a question for comparison: case-folded, with single spaces, and without invisible characters or punctuation around words.
 * Other symbols stay (C++, C#, -5). Text that is only punctuation stays too.
 */
export function comparableQuestion(text: string, language = ''): string {
  const written = firstCodePoints(foldedText(text, language), maxCompared).replace(singleQuotes, "'");
  return spaced(written.replace(/\S+/g, unframed)) || spaced(written);
}

/** Returns the forms of a query that may equal an FAQ's question: with its emoji and without them. */
export function askedForms(query: string, language: string): string[] {
  const forms = [query, query.replace(emoji, ' ')].map((each) => comparableQuestion(each, language));
  return [...new Set(forms)].filter((form) => form !== '');
}

/** Removes punctuation around a word. It removes closing marks one at a time, since a pattern for all takes quadratic time before a letter. */
function unframed(word: string): string {
  const rest = word.replace(opening, '');
  let end = rest.length;
  while (end > 0 && closing.test(rest.slice(Math.max(0, end - 2), end))) end -= 1;
  return rest.slice(0, end);
}

function spaced(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Symbols that change the meaning of a word although full-text search ignores them: C++, €5, 50%, -v. */
const symbols = /[\p{Sm}\p{Sc}#%&*°]|^-(?=[\p{L}\p{N}])/gu;

/**
 * Returns a test whether a question has the same symbols as the query's words. C matches neither C++ nor C#. The test is valid only for
 * questions that contain all words of the query.
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
