/** A quotable part of a document's text, and the headings above it, outermost first. */
export interface Piece {
  heading_path: string[];
  text: string;
}

/** Reason why a document cannot be read; the message is one sentence for people. */
export class Unreadable extends Error {}

/** Maximum length of a piece in UTF-16 units. With its headings, any such text fits a PostgreSQL full-text index. */
export const maxPieceLength = 1_200;
/** Limits of one document, or of all pages of a website. */
export const maxPieces = 2_000;
const maxTextBytes = 2 * 1_048_576;
/** Maximum length of a heading in UTF-16 units. */
export const maxHeadingLength = 200;
/** Maximum number of a piece's headings: one of each level. */
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

/** Returns the size of a piece in UTF-8, its headings included. */
export function bytesOf({ heading_path, text }: Piece): number {
  return heading_path.reduce((sum, heading) => sum + Buffer.byteLength(heading), Buffer.byteLength(text));
}

/**
 * Joins the blocks of a text into pieces, each as long as allowed and none across a heading; if that makes too many, adjacent short ones
 * are merged. All text of a document passes through here and comes out as well-formed Unicode without NUL.
 */
export class PieceBuilder {
  #pieces: Piece[] = [];
  #path: Heading[];
  #pending = '';
  #bytes = 0;
  /** The last heading, while no text follows it: a section without text has its heading as its text. */
  #bare: Heading | undefined;

  /** Takes the `title`: the first heading of every piece, and no piece by itself. */
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

  /** Adds a paragraph, a list item or a row; `glue` separates it from the block before. Throws Unreadable beyond the limits. */
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
      this.#pieces = withShortOnesJoined(this.#pieces);
      this.#bytes = this.#pieces.reduce((sum, each) => sum + bytesOf(each), 0);
    }
    refuseTooMuch(this.#pieces.length, this.#bytes);
  }
}

/** Merges adjacent pieces that fit one, under their common headings. */
function withShortOnesJoined(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const before = joined.at(-1);
    const both =
      before && before.text.length + piece.text.length < maxPieceLength ? together(before, piece) : undefined;
    if (both && both.text.length <= maxPieceLength) joined[joined.length - 1] = both;
    else joined.push(piece);
  }
  return joined;
}

function together(one: Piece, other: Piece): Piece {
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

/** Returns whether a text has more than spaces and characters that nobody sees, such as zero-width spaces. */
export function isVisible(text: string): boolean {
  return /[^\s\p{Default_Ignorable_Code_Point}]/u.test(text);
}

/** All control characters but tabs and those that end lines. */
const controls = /[^\P{Cc}\t-\r]/gu;

/**
 * Removes what PostgreSQL refuses (NUL, lone surrogates) and other control characters, which nobody reads and of which JSON has six for each; normalises line ends to
 * newlines.
 */
function cleaned(text: string): string {
  return text.toWellFormed().replace(controls, '').replace(/\r\n?/g, '\n');
}

/** Returns `most`, or one less if that would split a surrogate pair; at most the text's length, in UTF-16 units. */
function endWithin(text: string, most: number): number {
  const code = text.charCodeAt(most - 1);
  return code >= 0xd800 && code <= 0xdbff && most > 1 ? most - 1 : Math.min(most, text.length);
}

/** Removes blank lines around a text and keeps the indentation of its first line. */
function trimmedLines(text: string): string {
  const end = text.trimEnd();
  const begin = end.length - end.trimStart().length;
  return end.slice(end.lastIndexOf('\n', begin - 1) + 1);
}

/** Minimum share of a part before a cut at a sentence's or line's end; otherwise it is cut at a word. */
const leastShare = 0.4;

/** Cuts a text into parts of at most `most` UTF-16 units: after a sentence, else a line, else a word, else within a word. */
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

/** Returns whether a sentence ends before `end`: a mark, perhaps a closing quote or bracket, and a space, which CJK omits. */
function isSentenceEnd(window: string, end: number): boolean {
  const last = window[end - 1]!;
  if ('。！？'.includes(last)) return true;
  if (!/\s/.test(window[end]!)) return false;
  const mark = '"\')]»”’'.includes(last) ? window[end - 2] : last;
  return mark !== undefined && '.!?…'.includes(mark);
}
