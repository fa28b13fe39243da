/** As it is written in one of several ways: 'it’s' and "it's", an emoji with and without the mark that makes it one. */
const singleQuotes = /[‘’‛ʼ`´]/g;
const invisible = /\u00ad|\u200b|\u2060|\ufe0e|\ufe0f|\ufeff/g;
/** What stands around a sentence, what only ends one, and what only begins one. */
const quotes = new Set('\'"«»“”„‚‹›「」『』');
const ends = new Set('?!.,;:。、،؟؛।');
const begins = new Set('¿¡');

/**
 * A question as it is compared: in lower case, its words with one space between them, without the marks that end or frame a sentence.
 * Other marks are part of it (C++, C#, -5); of what consists of marks alone none is left out. migrations/0004 says the same.
 */
export function comparableQuestion(text: string): string {
  const written = text.normalize('NFKC').toLowerCase().replace(singleQuotes, "'").replace(invisible, '');
  const words = written.split(/\s/).filter((word) => word !== '');
  const bare = words.map(withoutFrames).filter((word) => word !== '');
  return (bare.length > 0 ? bare : words).join(' ');
}

/** A word without what frames a sentence before and after it, but with the inches of 5". */
function withoutFrames(word: string): string {
  let from = 0;
  let to = word.length;
  for (;;) {
    const mark = word[from]!;
    const dots = mark === '.' ? dotsFrom(word, from) : 0;
    if (from < to && (quotes.has(mark) || begins.has(mark))) from++;
    else if (dots > 1) from += dots;
    else break;
  }
  while (to > from && (ends.has(word[to - 1]!) || (quotes.has(word[to - 1]!) && !isDigit(word[to - 2])))) to--;
  return word.slice(from, to);
}

/** How many dots stand in a row. */
function dotsFrom(word: string, from: number): number {
  let to = from;
  while (word[to] === '.') to++;
  return to - from;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
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
