/** Phrases and synonyms of users, with the API's words. */
const phrases: [RegExp, string][] = [
  [/\bwho ?am ?i\b/gi, ' me '],
  [/\b(?:opt(?:s|ed|ing)?[ -]?out|unsubscrib(?:e|es|ed|ing))\b/gi, ' consent '],
];
const synonyms: [word: string, meanings: string[]][] = [
  ['add', ['create']],
  ['customer', ['contact']],
  ['edit', ['update']],
  ['erase', ['delete']],
  ['modify', ['update']],
  ['refund', ['decline', 'cancel']],
  ['remove', ['delete']],
  ['text', ['message', 'text']],
];
const termsOfStem = new Map(synonyms.map(([word, meanings]) => [stemOf(word), meanings.map(stemOf)]));
/** Words that a search ignores. */
const fillers = new Set('a an and are can do does for from how i in is it my of on or the to what with'.split(' '));

/** Splits camel-case names into words, and replaces phrases with the API's words. */
export function wordsOf(text: string): string {
  // Names such as TypeScript stay whole.
  const apart = text.replaceAll(/\b[a-z]+[A-Z]\w*/g, (name) => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2'));
  return phrases.reduce((words, [phrase, word]) => words.replaceAll(phrase, word), apart);
}

/** Returns a word's search terms; null for a filler. All forms and synonyms of a word have the same terms. */
export function termsOf(word: string): string[] | null {
  const lower = word.toLowerCase();
  if (fillers.has(lower)) return null;
  const stem = stemOf(lower);
  return termsOfStem.get(stem) ?? [stem];
}

/** Returns a word without plural and verb endings. */
function stemOf(word: string): string {
  return word
    .replace(/(?<=\w{2})ies$/, 'y')
    .replace(/(?<=\w{2}[^su])s$/, '')
    .replace(/(?<=\w{3})(?:ing|ed|e)$/, '');
}
