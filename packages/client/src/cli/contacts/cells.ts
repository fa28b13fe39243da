/**
 * Matches strings that begin like a formula (= + - @, tab or carriage return), also after apostrophes. An export puts an apostrophe before
 * them, so that no spreadsheet runs a contact's name. An import removes one apostrophe, which restores the string. Signed numbers such as
 * +4930901820 and -1.5 stay as they are, since they run nothing.
 */
const likeFormula = /^'*[=+\-@\t\r]/;
const signedNumber = /^[+-]\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Returns a string as a cell that no spreadsheet runs as a formula. */
export function toCell(text: string): string {
  return likeFormula.test(text) && !signedNumber.test(text) ? `'${text}` : text;
}

/** Returns the string of a cell that `toCell` wrote. */
export function fromCell(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Returns tags separated by commas. A tag with a comma, semicolon, quote or line break, or with spaces around it, is quoted. */
export function tagsText(tags: readonly string[]): string {
  return tags.map((tag) => (/[,;"\r\n]|^\s|\s$/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(',');
}

/** Returns the tags of a cell, separated by commas or semicolons. A tag may be quoted. */
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
