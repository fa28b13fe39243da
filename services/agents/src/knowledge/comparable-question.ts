/** As it is written in one of several ways: 'it’s' and "it's", an emoji with and without the mark that makes it one. */
const singleQuotes = /[‘’‛ʼ`´]/g;
const invisible = /\u00ad|\u200b|\u2060|\ufe0e|\ufe0f|\ufeff/g;
/** What begins a sentence or stands around it. */
const opening = /^(?:['"«»“”„‚‹›「」『』¿¡]|\.{2,})+/;
/** What ends it or stands around it, but for the inches of 5". */
const closing = /(?:[?!.,;:。、،؟؛।]|(?<![0-9])['"«»“”„‚‹›「」『』])$/;

/**
 * A question as it is compared: in lower case, its words with one space between them, without the marks that end or frame a sentence.
 * Other marks are part of it (C++, C#, -5); of what consists of marks alone none is left out. migrations/0004 says the same.
 */
export function comparableQuestion(text: string): string {
  const written = text.normalize('NFKC').toLowerCase().replace(singleQuotes, "'").replace(invisible, '');
  return spaced(written.replace(/\S+/g, unframed)) || spaced(written);
}

/** Mark by mark from the end: a pattern for all of them takes the square of their number where a letter follows. */
function unframed(word: string): string {
  const rest = word.replace(opening, '');
  let end = rest.length;
  while (end > 0 && closing.test(rest.slice(Math.max(0, end - 2), end))) end -= 1;
  return rest.slice(0, end);
}

function spaced(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** What a search by words passes over, and what makes another word of one: C++, €5, 50%, -v. */
const symbols = /[\p{Sm}\p{Sc}#%&*°]|^-(?=[\p{L}\p{N}])/gu;

/**
 * Whether the words of a query have the same symbols as in this question: C is not C++ there, and C# is not either. To be asked only where
 * the question has all words of the query.
 */
export function hasSymbolsOf(question: string, query: string): boolean {
  const asked = new Set(comparableQuestion(question).split(' '));
  const bareAsked = new Set(Array.from(asked, withoutSymbols));
  const words = new Set(comparableQuestion(query).split(' '));
  return Array.from(words).every((word) => {
    const bare = withoutSymbols(word);
    return bareAsked.has(bare) ? asked.has(word) : bare === word;
  });
}

function withoutSymbols(word: string): string {
  return word.replace(symbols, '');
}
