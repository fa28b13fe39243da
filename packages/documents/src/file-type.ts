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
/** A file and a folder that the archive of every Word document contains. */
const contentTypes = Buffer.from('[Content_Types].xml');
const wordFolder = Buffer.from('word/');
/** Maximum bytes searched for a page's first element. */
const maxProlog = 65_536;
/** Bytes in which PDF readers look for the `%PDF` header. */
const pdfHeaderBytes = 1_024;
/** Tags that begin a web page, from the MIME Sniffing standard's table (7.1). */
const htmlTag =
  /^<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)(?:[ >]|$)/i;
/** Any tag. It marks HTML only in a file whose name ends in .htm or .html. */
const anyTag = /^<[a-z]/i;
/** Beginning of a complete web page. */
const wholePage = /^<(!doctype\s+html|html)[\s>]/i;

/**
 * Determines a file's type from its content, and the kind of plain text from its name. Returns undefined for any other file. It
 * decompresses nothing and takes linear time.
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
  // Plain text may mention the header of a PDF.
  if (pdfHeader !== -1) return plain ?? 'pdf';
  // Markdown, or the first cell of a table, may begin with an HTML element or comment.
  if (plain === 'md' || plain === 'csv') return plain;
  return htmlTag.test(beginning) || (/\.html?$/i.test(name) && anyTag.test(beginning)) ? 'html' : plain;
}

/** Returns whether a text begins with a doctype or an html element. Spaces, comments and an XML declaration may precede it. */
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

/** Returns whether a zip archive lists the file and folder that every Word document contains. */
function isDocx(archive: Buffer): boolean {
  let [hasTypes, hasText] = [false, false];
  // `readDocx` rejects archives with more entries. Without this limit, 20 MiB could list half a million.
  for (const { name } of zipEntries(archive).take(maxEntries)) {
    hasTypes ||= name.equals(contentTypes);
    hasText ||= name.subarray(0, wordFolder.length).equals(wordFolder);
    if (hasTypes && hasText) return true;
  }
  return false;
}
