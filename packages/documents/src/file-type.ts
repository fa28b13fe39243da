import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';
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

/**
 * Returns the type of a file by its content, of plain text by its name; undefined for any other. Decompresses nothing, and takes linear
 * time.
 */
export function fileTypeOf(bytes: Buffer, name: string): DocumentType | undefined {
  if (bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'pdf';
  if (isZip(bytes)) return isDocx(bytes) ? 'docx' : undefined;
  if (isHtml(bytes)) return 'html';
  const isPlainText = !bytes.includes(0) && isUtf8(bytes);
  return isPlainText ? plainTypes.get(extname(name).toLowerCase()) : undefined;
}

/** Returns whether a file begins with a doctype or an html element; blanks, comments and an XML declaration may come before. */
function isHtml(bytes: Buffer): boolean {
  let text = bytes
    .subarray(0, maxProlog)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '');
  for (;;) {
    text = text.trimStart();
    const end = text.startsWith('<!--') ? '-->' : text.startsWith('<?') ? '?>' : null;
    if (end === null) return /^<(!doctype\s+html|html)[\s>]/i.test(text);
    const at = text.indexOf(end);
    if (at === -1) return false;
    text = text.slice(at + end.length);
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
