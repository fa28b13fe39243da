/** Control characters, which come before the space: JSON escapes them, and PostgreSQL's arrays have them as they are. */
const control = /[^ -\uffff]/;

/**
 * Writes texts as an array of PostgreSQL. A text that is JSON itself has no control characters, and JSON escapes quotes and backslashes as arrays do: the
 * driver's own two replacements take a tenth of a second of everybody's time for a megabyte of backslashes, this some milliseconds.
 */
export function writeTexts(texts: unknown): string {
  return Array.isArray(texts) ? `{${texts.map(written).join(',')}}` : String(texts);
}

function written(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) throw new TypeError('an array of texts has an undefined element');
  if (Array.isArray(value)) return writeTexts(value);
  const text = String(value);
  if (!control.test(text) && text.isWellFormed()) return JSON.stringify(text);
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Reads an array of texts as PostgreSQL writes it, of one dimension (throws RangeError for another): a part at a time, where the driver goes from character to character. */
export function readTexts(array: string): (string | null)[] {
  const texts: (string | null)[] = [];
  const end = array.length - 1;
  if (array[0] !== '{' || array[1] === '{') throw new RangeError('an array of texts has one dimension, from 1 on');
  const parsed = array.includes('\\') && !control.test(array) ? parsedTexts(array) : undefined;
  if (parsed) return parsed;
  // Each is looked for once: again and again it would be looked for to the end of the array.
  let [quote, backslash] = [-1, -1];
  for (let at = 1; at < end; at++) {
    if (array[at] !== '"') {
      const comma = array.indexOf(',', at);
      const text = array.slice(at, comma === -1 ? end : comma);
      texts.push(text === 'NULL' ? null : text);
      at += text.length;
      continue;
    }
    let text = '';
    for (at++; ; ) {
      if (quote < at) quote = array.indexOf('"', at);
      if (backslash !== Number.POSITIVE_INFINITY && backslash < at) backslash = array.indexOf('\\', at);
      if (backslash === -1) backslash = Number.POSITIVE_INFINITY;
      if (quote === -1) throw new RangeError('an array of texts ends within a text');
      if (quote < backslash) break;
      text += array.slice(at, backslash) + array[backslash + 1]!;
      at = backslash + 2;
    }
    texts.push(text + array.slice(at, quote));
    at = quote + 1;
  }
  return texts;
}

/** Returns the texts of an array all of which are quoted, without control characters: it is JSON but for its brackets. Undefined for another. */
function parsedTexts(array: string): string[] | undefined {
  try {
    const parsed: unknown[] = JSON.parse(`[${array.slice(1, -1)}]`);
    return parsed.every((each) => typeof each === 'string') ? parsed : undefined;
  } catch {
    return undefined;
  }
}
