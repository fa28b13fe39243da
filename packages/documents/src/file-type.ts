import { extname } from 'node:path';
import type { DocumentType } from './extract.ts';

/** The types of plain text by the end of a file's name. */
const plainTypes: Record<string, DocumentType> = {
  '': 'txt',
  '.txt': 'txt',
  '.md': 'md',
  '.markdown': 'md',
  '.csv': 'csv',
};
/** So much of what comes before a page's first element is looked at. */
const maxProlog = 65_536;

/**
 * The type that a file is by its content, plain text by its name; undefined where it is none that is taken. Looks at the list of a
 * zip's entries, inflates nothing, and takes time that grows with the bytes alone.
 */
export function fileTypeOf(bytes: Buffer, name: string): DocumentType | undefined {
  if (bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'pdf';
  if (bytes.length >= 4 && bytes.readUInt32LE(0) === 0x04034b50) return isDocx(bytes) ? 'docx' : undefined;
  if (isHtml(bytes)) return 'html';
  const extension = extname(name).toLowerCase();
  return isPlainText(bytes) && Object.hasOwn(plainTypes, extension) ? plainTypes[extension] : undefined;
}

/** Whether it begins with a doctype or an html element; blanks, comments and an XML declaration may come before. */
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

function isPlainText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

const endOfDirectory = 0x06054b50;
const directoryEntry = 0x02014b50;
const endLength = 22;
const entryLength = 46;
const maxComment = 65_535;

/** Whether the list of a zip's entries names what a docx has. */
function isDocx(bytes: Buffer): boolean {
  let end = bytes.length - endLength;
  const first = Math.max(0, end - maxComment);
  while (end >= first && bytes.readUInt32LE(end) !== endOfDirectory) end--;
  if (end < first) return false;
  let hasTypes = false;
  let hasWord = false;
  let at = bytes.readUInt32LE(end + 16);
  while (at + entryLength <= end && bytes.readUInt32LE(at) === directoryEntry) {
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('latin1', at + entryLength, Math.min(at + entryLength + nameLength, end));
    if (name === '[Content_Types].xml') hasTypes = true;
    if (name.startsWith('word/')) hasWord = true;
    if (hasTypes && hasWord) return true;
    at += entryLength + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return false;
}
