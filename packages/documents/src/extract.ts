import robotsParser from 'robots-parser';
import { splitCsv } from './csv.ts';
import { type Piece, Unreadable } from './pieces.ts';
import { splitMarkdown, splitText } from './split.ts';

/** The package's types declare an ES module, which it is not. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

/** Format that a document is read as. */
export type DocumentType = 'html' | 'txt' | 'md' | 'csv' | 'pdf' | 'docx';

/** Asks for the pieces of a document. `charset` is what its sender states; a byte order mark overrides it. */
export interface DocumentQuestion {
  type: DocumentType;
  charset?: string | undefined;
}

/** Asks whether the robots.txt at `robotsUrl` lets `agent` read `url`. */
export interface RobotsQuestion {
  robotsUrl: string;
  url: string;
  agent: string;
}

/** Question to the child process. */
export type ChildQuestion = DocumentQuestion | ({ type: 'robots' } & RobotsQuestion);

/** Loads the parser for a question, so that loading it does not count as the document's time. */
export async function prepare({ type }: ChildQuestion): Promise<void> {
  if (type === 'pdf') await import('./pdf.ts');
  else if (type === 'docx') await import('./docx.ts');
  else if (type === 'html') await import('./html.ts');
}

/** Returns a document's pieces, or what a robots.txt allows. Throws Unreadable with a reason, and whatever a parser throws. */
export async function extract(question: ChildQuestion, bytes: Buffer): Promise<Piece[] | boolean> {
  switch (question.type) {
    case 'robots': {
      const robots = parseRobots(question.robotsUrl, bytes.toString('utf8'));
      return robots.isAllowed(question.url, question.agent) !== false;
    }
    case 'pdf':
      return await (await import('./pdf.ts')).readPdf(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length));
    case 'docx':
      return await (await import('./docx.ts')).readDocx(bytes);
    case 'html':
      return (await import('./html.ts')).readWebPage(decoded(bytes, question.charset ?? declaredCharset(bytes)));
    case 'md':
      return splitMarkdown(decoded(bytes, question.charset));
    case 'csv':
      return splitCsv(decoded(bytes, question.charset));
    case 'txt':
      return splitText(decoded(bytes, question.charset));
  }
}

/** Bytes in which a page may declare its encoding. */
const declarationBytes = 2_048;

function declaredCharset(bytes: Buffer): string | undefined {
  const beginning = bytes.toString('latin1', 0, declarationBytes);
  for (const [tag] of beginning.matchAll(/<meta[^>]*/gi)) {
    const charset = /charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(tag)?.[1];
    if (charset) return charset;
  }
  return undefined;
}

/** Encodings by their byte order marks. The decoder of UTF-8 knows its own. */
const encodingsByMark = new Map([
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
]);

/** Decodes by the byte order mark, else `charset`, else UTF-8. Throws Unreadable for an unknown encoding. */
function decoded(bytes: Buffer, charset = 'utf-8'): string {
  const marked = encodingsByMark.get(bytes.toString('hex', 0, 2));
  try {
    return new TextDecoder(marked ?? charset).decode(bytes);
  } catch (cause) {
    throw new Unreadable('Its encoding is not supported', { cause });
  }
}
