/** A quotable part of a document's text, with the headings above it, outermost first. */
export interface Piece {
  heading_path: string[];
  text: string;
}

/** A document that cannot be read. The message is the reason, one sentence for people. */
export class Unreadable extends Error {}

/** Maximum length of a piece in UTF-16 units. With its headings, any such text fits a PostgreSQL full-text index. */
export const maxPieceLength = 1_200;
/** Maximum pieces of one document, or of all pages of a website. `maxTextBytes` limits their size. */
export const maxPieces = 2_000;
const maxTextBytes = 2 * 1_048_576;
/** Maximum length of a heading in UTF-16 units. */
export const maxHeadingLength = 200;
/** Maximum number of a piece's headings: one per level. */
export const maxHeadings = 6;

/** Throws Unreadable if there are more pieces or bytes than the limits. */
export function refuseTooMuch(pieces: number, bytes: number): void {
  if (pieces > maxPieces) throw new Unreadable(`It has too much text; the limit is ${maxPieces} passages`);
  if (bytes > maxTextBytes) throw new Unreadable('It has too much text; the limit is 2 MiB');
}

interface Heading {
  level: number;
  text: string;
}

/** Returns the size of a piece in UTF-8 bytes, including its headings. */
export function bytesOf({ heading_path, text }: Piece): number {
  return heading_path.reduce((sum, heading) => sum + Buffer.byteLength(heading), Buffer.byteLength(text));
}

/**
 * Joins the blocks of a text into pieces of up to the maximum length, none across a heading. Beyond the limits it merges adjacent short
 * pieces. All text of a document passes through here and becomes well-formed Unicode without NUL.
 */
export class PieceBuilder {
  #pieces: Piece[] = [];
  #path: Heading[];
  #pending = '';
  #bytes = 0;
  /** The last heading, until text follows it. A section without text uses its heading as its text. */
  #bare: Heading | undefined;

  /** `title` is the first heading of every piece. It does not become a piece of its own. */
  constructor(title = '') {
    const shown = headingText(title);
    this.#path = shown === '' ? [] : [{ level: 1, text: shown }];
  }

  /** Begins a section; `level` is 1 (outermost) to 6. */
  heading(level: number, text: string): void {
    const shown = headingText(text);
    if (shown === '') return;
    this.#endSection(level);
    this.#bare = { level, text: shown };
    this.#path = [...this.#path.filter((above) => above.level < level), this.#bare];
  }

  /** Adds a paragraph, a list item or a row. `glue` separates it from the previous block. Throws Unreadable beyond the limits. */
  block(text: string, glue = '\n\n'): void {
    const shown = trimmedLines(cleaned(text));
    if (!isVisible(shown)) return;
    this.#bare = undefined;
    if (this.#pending !== '' && this.#pending.length + glue.length + shown.length > maxPieceLength) this.#flush();
    if (shown.length > maxPieceLength) for (const part of cutText(shown, maxPieceLength)) this.#add(part);
    else this.#pending += this.#pending === '' ? shown : glue + shown;
  }

  /** Returns all pieces. Throws as `block` does. */
  finish(): Piece[] {
    this.#endSection(0);
    return this.#pieces;
  }

  #endSection(nextLevel: number): void {
    this.#flush();
    if (this.#bare && nextLevel <= this.#bare.level) {
      const { text } = this.#path.pop()!;
      this.#add(text);
    }
    this.#bare = undefined;
  }

  #flush(): void {
    if (this.#pending !== '') this.#add(this.#pending);
    this.#pending = '';
  }

  #add(text: string): void {
    const piece = { heading_path: this.#path.map((heading) => heading.text), text };
    this.#pieces.push(piece);
    this.#bytes += bytesOf(piece);
    if (this.#pieces.length > maxPieces || this.#bytes > maxTextBytes) {
      this.#pieces = withShortPiecesMerged(this.#pieces);
      this.#bytes = this.#pieces.reduce((sum, each) => sum + bytesOf(each), 0);
    }
    refuseTooMuch(this.#pieces.length, this.#bytes);
  }
}

/** Merges adjacent pieces that together fit into one, under their common headings. */
function withShortPiecesMerged(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const before = joined.at(-1);
    const both =
      before && before.text.length + piece.text.length < maxPieceLength ? mergedPiece(before, piece) : undefined;
    if (both && both.text.length <= maxPieceLength) joined[joined.length - 1] = both;
    else joined.push(piece);
  }
  return joined;
}

function mergedPiece(one: Piece, other: Piece): Piece {
  const different = one.heading_path.findIndex((heading, index) => heading !== other.heading_path[index]);
  const shared = different === -1 ? one.heading_path.length : different;
  const under = ({ heading_path, text }: Piece) => [...heading_path.slice(shared), text].join('\n');
  return { heading_path: one.heading_path.slice(0, shared), text: `${under(one)}\n\n${under(other)}` };
}

function headingText(text: string): string {
  const line = cleaned(text)
    .replace(/[^\S\ufeff]+/g, ' ')
    .trim();
  return isVisible(line) ? line.slice(0, endWithin(line, maxHeadingLength)).trim() : '';
}

/** Returns whether a text contains more than whitespace and invisible characters such as zero-width spaces. */
export function isVisible(text: string): boolean {
  return /[^\s\p{Default_Ignorable_Code_Point}]/u.test(text);
}

/** All control characters except tabs and line ends. */
const controls = /[^\P{Cc}\t-\r]/gu;

/**
 * Removes NUL, replaces lone surrogates (PostgreSQL rejects both) and normalizes line ends to newlines. It also removes other control
 * characters, which are invisible and take six characters each in JSON.
 */
function cleaned(text: string): string {
  return text.toWellFormed().replace(controls, '').replace(/\r\n?/g, '\n');
}

/** Returns `most`, or one less if that would split a surrogate pair, but at most the text's length. Counts UTF-16 units. */
function endWithin(text: string, most: number): number {
  const code = text.charCodeAt(most - 1);
  return code >= 0xd800 && code <= 0xdbff && most > 1 ? most - 1 : Math.min(most, text.length);
}

/** Removes blank lines around a text but keeps the indentation of its first line. */
function trimmedLines(text: string): string {
  const end = text.trimEnd();
  const begin = end.length - end.trimStart().length;
  return end.slice(end.lastIndexOf('\n', begin - 1) + 1);
}

/** Minimum length of a part that ends at a sentence or line, as a share of the maximum. Otherwise the cut is at a word. */
const leastShare = 0.4;

/** Cuts a text into parts of at most `most` UTF-16 units. It cuts after a sentence, else a line, else a word, else within a word. */
export function cutText(text: string, most: number): string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > most) {
    const end = from + cutAt(text.slice(from, from + most + 1), most);
    const part = text.slice(from, end).trim();
    if (part !== '') parts.push(part);
    from = end;
  }
  const rest = text.slice(from).trim();
  return rest === '' ? parts : [...parts, rest];
}

function cutAt(window: string, most: number): number {
  const least = Math.floor(most * leastShare);
  for (let end = most; end > least; end--) if (isSentenceEnd(window, end)) return end;
  const line = window.lastIndexOf('\n', most);
  if (line > least) return line;
  for (let end = most; end > 0; end--) if (/\s/.test(window[end]!)) return end;
  return endWithin(window, most);
}

/** Returns whether a sentence ends before `end`: a mark, an optional closing quote or bracket, and a space. CJK marks need no space. */
function isSentenceEnd(window: string, end: number): boolean {
  const last = window[end - 1]!;
  if ('。！？'.includes(last)) return true;
  if (!/\s/.test(window[end]!)) return false;
  const mark = '"\')]»”’'.includes(last) ? window[end - 2] : last;
  return mark !== undefined && '.!?…'.includes(mark);
}
