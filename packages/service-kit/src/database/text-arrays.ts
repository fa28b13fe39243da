/** Writes texts as an array of PostgreSQL. Without patterns: the driver's own take a tenth of a second of everybody's time for a megabyte of backslashes. */
export function writeTexts(texts: unknown): string {
  return Array.isArray(texts) ? `{${texts.map(written).join(',')}}` : String(texts);
}

function written(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) throw new TypeError('an array of texts has an undefined element');
  if (Array.isArray(value)) return writeTexts(value);
  return `"${String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Reads an array of texts as PostgreSQL writes it, of one dimension (throws RangeError for another): a part at a time, where the driver goes from character to character. */
export function readTexts(array: string): (string | null)[] {
  const texts: (string | null)[] = [];
  const end = array.length - 1;
  if (array[0] !== '{' || array[1] === '{') throw new RangeError('an array of texts has one dimension, from 1 on');
  // Each is looked for once: again and again it would be looked for to the end of the array.
  let [quote, backslash] = [-1, -1];
  const next = (character: string, at: number) => {
    const found = array.indexOf(character, at);
    return found === -1 ? Number.POSITIVE_INFINITY : found;
  };
  for (let at = 1; at < end; at++) {
    if (array[at] !== '"') {
      const text = array.slice(at, Math.min(next(',', at), end));
      texts.push(text === 'NULL' ? null : text);
      at += text.length;
      continue;
    }
    let text = '';
    for (at++; ; ) {
      if (quote < at) quote = next('"', at);
      if (backslash < at) backslash = next('\\', at);
      if (quote >= end) throw new RangeError('an array of texts ends within a text');
      if (quote < backslash) break;
      text += array.slice(at, backslash) + array[backslash + 1]!;
      at = backslash + 2;
    }
    texts.push(text + array.slice(at, quote));
    at = quote + 1;
  }
  return texts;
}
