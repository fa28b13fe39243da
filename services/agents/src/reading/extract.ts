import robotsParser from 'robots-parser';
import { splitCsv } from './csv.ts';
import { type Piece, Unreadable } from './pieces.ts';
import { splitMarkdown, splitText } from './split.ts';

/** Its types say an ES module, which it is not. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

/** What a document is read as. */
export type DocumentType = 'html' | 'txt' | 'md' | 'csv' | 'pdf' | 'docx';

/** What the child process is asked: the pieces of a document, or whether a robots.txt lets an agent read a URL. */
export type ChildQuestion =
  | { type: DocumentType; charset?: string | undefined }
  | { type: 'robots'; robotsUrl: string; url: string; agent: string };

/** Loads what a question needs: it takes its time, which is no document's. */
export async function prepare({ type }: ChildQuestion): Promise<void> {
  if (type === 'pdf') await import('./pdf.ts');
  else if (type === 'docx') await import('./docx.ts');
  else if (type === 'html') await import('./html.ts');
}

/** Answers a question about the bytes that came with it. Throws Unreadable for what lies in them, and whatever a parser throws. */
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

/** How far into a page its own word on its encoding is looked for. */
const declarationBytes = 2_048;

function declaredCharset(bytes: Buffer): string | undefined {
  const beginning = bytes.toString('latin1', 0, declarationBytes);
  for (const [tag] of beginning.matchAll(/<meta[^>]*/gi)) {
    const charset = /charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(tag)?.[1];
    if (charset) return charset;
  }
  return undefined;
}

/** A mark at the beginning decides; then what was said; else UTF-8. */
function decoded(bytes: Buffer, charset = 'utf-8'): string {
  const marked =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : undefined;
  try {
    return new TextDecoder(marked ?? charset).decode(bytes);
  } catch (cause) {
    throw new Unreadable('Its encoding is not supported', { cause });
  }
}
