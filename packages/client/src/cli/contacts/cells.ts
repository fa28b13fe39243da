/**
 * Texts in cells that spreadsheets open. A text that begins like a formula (= + - @, tab or carriage return) gets an apostrophe before it, so
 * that no spreadsheet runs what somebody chose as their name; so does one that begins with such apostrophes already. An import takes one
 * away, which makes both the same text. Numbers keep their sign: +4930901820 and -1.5 run nothing, and stay what others read them as.
 */
const likeFormula = /^'*[=+\-@\t\r]/;
const signedNumber = /^[+-]\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Returns the cell of a text. */
export function toCell(text: string): string {
  return likeFormula.test(text) && !signedNumber.test(text) ? `'${text}` : text;
}

/** Returns the text of a cell. */
export function fromCell(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Returns tags in one text, with commas between them; one that has a comma, a semicolon, a quote or spaces around it is in quotes. */
export function tagsText(tags: readonly string[]): string {
  return tags.map((tag) => (/[,;"\r\n]|^\s|\s$/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(',');
}

/** Returns the tags of a text, with commas or semicolons between them, which may be in quotes. */
export function tagsOfCell(text: string): string[] {
  const tags: string[] = [];
  let tag = '';
  for (const piece of `${text},`.split(/(?<=[,;])/)) {
    tag += piece;
    const isOpen = tag.trimStart().startsWith('"') && tag.split('"').length % 2 === 0;
    if (isOpen) continue;
    tags.push(unquoted(tag.slice(0, -1).trim()));
    tag = '';
  }
  return [...tags, tag.slice(0, -1).trim()].filter((each) => each !== '');
}

function unquoted(tag: string): string {
  return /^".*"$/s.test(tag) ? tag.slice(1, -1).replaceAll('""', '"') : tag;
}
