import { createRequire } from 'node:module';
import { join } from 'node:path';
import { getDocumentProxy } from 'unpdf';
import { type Piece, PieceBuilder, Unreadable } from './pieces.ts';

const maxPages = 2_000;
/** Downward distance between two lines, in line heights, above which a paragraph ends. */
const paragraphGap = 1.6;
/** Upward distance, in line heights, beyond which the next column begins. A superscript rises less. */
const columnRise = -0.7;

/** Folder of the character maps for Chinese, Japanese and Korean fonts that a document names but does not embed. */
const cMapUrl = join(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'), '../cmaps/');

/** Splits a PDF by its pages, under the headings "Page 1", "Page 2" and so on. It skips damaged pages. Throws Unreadable. */
export async function readPdf(bytes: Uint8Array): Promise<Piece[]> {
  const pdf = await getDocumentProxy(bytes, { verbosity: 0, cMapUrl, cMapPacked: true }).catch((cause: unknown) => {
    const isLocked = cause instanceof Error && cause.name === 'PasswordException';
    throw new Unreadable(isLocked ? 'It is protected by a password' : 'It is not a readable PDF; it may be damaged', {
      cause,
    });
  });
  if (pdf.numPages > maxPages) throw new Unreadable(`It has more than ${maxPages.toLocaleString('en')} pages`);
  const builder = new PieceBuilder();
  let broken: unknown;
  let readable = 0;
  for (let number = 1; number <= pdf.numPages; number++) {
    try {
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      page.cleanup();
      readable++;
      const text = textOf(items as TextItem[]);
      if (text.trim() === '') continue;
      builder.heading(1, `Page ${number}`);
      for (const paragraph of text.split('\n\n')) builder.block(paragraph);
    } catch (error) {
      if (error instanceof Unreadable) throw error;
      broken = error;
    }
  }
  if (readable === 0) throw new Unreadable('It is not a readable PDF; it may be damaged', { cause: broken });
  return builder.finish();
}

interface TextItem {
  str?: string;
  hasEOL?: boolean;
  height: number;
  transform: number[];
}

function textOf(items: TextItem[]): string {
  const parts: string[] = [];
  let last: { y: number; height: number } | undefined;
  for (const { str, hasEOL, height, transform } of items) {
    if (str === undefined) continue;
    if (str.trim() !== '') {
      const y = transform[5] ?? 0;
      const lines = last ? (last.y - y) / Math.max(last.height, height) : 0;
      if (lines > paragraphGap || lines < columnRise) parts.push('\n\n');
      last = { y, height };
    }
    parts.push(str, hasEOL ? '\n' : '');
  }
  return joinedWords(parts.join('').replace(/\n{3,}/g, '\n\n'));
}

/**
 * Joins words that are hyphenated at the end of a line, a column or a paragraph's first part. It keeps a hyphen that belongs to the word:
 * before an uppercase letter, a digit or a script without case, and in lists such as "Vor- und Nachteile".
 */
function joinedWords(text: string): string {
  return text
    .replace(/(?<=\p{L}\p{M}?)[-\u2010] ?\n{1,2} ?(?=\p{Ll})(?!(?:und|oder|bzw|sowie|and|or)(?:\P{L}|$))/gu, '')
    .replace(/(?<=[\p{L}\d]\p{M}?)([-\u2010]) ?\n ?(?=[\p{Lu}\p{Lo}\d])/gu, '$1');
}
