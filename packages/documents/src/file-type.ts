import { extname } from 'node:path';
import { plainEncoding } from './encoding.ts';
import type { DocumentType } from './extract.ts';
import { isZip, maxEntries, zipEntries } from './zip.ts';

/** Types of plain text by file extension. */
const plainTypes = new Map<string, DocumentType>([
  ['', 'txt'],
  ['.txt', 'txt'],
  ['.md', 'md'],
  ['.markdown', 'md'],
  ['.csv', 'csv'],
]);
/** A file, and the folder of others, that the archive of every Word document has. */
const contentTypes = Buffer.from('[Content_Types].xml');
const wordFolder = Buffer.from('word/');
/** Bytes searched for a page's first element. */
const maxProlog = 65_536;
/** Bytes in which PDF readers look for a file's header. */
const pdfHeaderBytes = 1_024;
/** Beginning of a web page in the MIME Sniffing standard's table (7.1). */
const htmlTag =
  /^<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)(?:[ >]|$)/i;
/** Beginning of a part of one, in a file that is named as a page. */
const anyTag = /^<[a-z]/i;
/** Beginning of a whole web page. */
const wholePage = /^<(!doctype\s+html|html)[\s>]/i;

/**
 * Returns the type of a file by its content, of plain text by its name; undefined for any other. Decompresses nothing, and takes linear
 * time.
 */
export function fileTypeOf(bytes: Buffer, name: string): DocumentType | undefined {
  const named = plainTypes.get(extname(name).toLowerCase());
  const pdfHeader = bytes.subarray(0, pdfHeaderBytes).indexOf('%PDF');
  if (pdfHeader === 0) return 'pdf';
  if (isZip(bytes)) return isDocx(bytes) ? 'docx' : undefined;
  const encoding = plainEncoding(bytes);
  const beginning = new TextDecoder(encoding ?? 'windows-1252').decode(bytes.subarray(0, maxProlog)).trimStart();
  if (isWholePage(beginning)) return 'html';
  const plain = encoding && named;
  // A text may mention the header of a PDF.
  if (pdfHeader !== -1) return plain ?? 'pdf';
  // Markdown may begin with an element or a comment, and so may the first cell of a table.
  if (plain === 'md' || plain === 'csv') return plain;
  return htmlTag.test(beginning) || (/\.html?$/i.test(name) && anyTag.test(beginning)) ? 'html' : plain;
}

/** Returns whether a text begins with a doctype or an html element; blanks, comments and an XML declaration may come before. */
function isWholePage(beginning: string): boolean {
  let text = beginning;
  for (;;) {
    const end = text.startsWith('<!--') ? '-->' : text.startsWith('<?') ? '?>' : null;
    if (end === null) return wholePage.test(text);
    const at = text.indexOf(end);
    if (at === -1) return false;
    text = text.slice(at + end.length).trimStart();
  }
}

/** Returns whether a zip archive lists what every Word document has. */
function isDocx(archive: Buffer): boolean {
  let [hasTypes, hasText] = [false, false];
  // One with more is not read either; without a bound 20 MiB could list half a million.
  for (const { name } of zipEntries(archive).take(maxEntries)) {
    hasTypes ||= name.equals(contentTypes);
    hasText ||= name.subarray(0, wordFolder.length).equals(wordFolder);
    if (hasTypes && hasText) return true;
  }
  return false;
}
