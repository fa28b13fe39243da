import { splitCsv } from './csv.ts';
import { decodedPage, decodedText } from './decode.ts';
import type { Piece } from './pieces.ts';
import { allowedBy, type RobotsQuestion } from './robots.ts';
import { splitMarkdown, splitText } from './split.ts';

/** Format of a document, which selects its parser. */
export type DocumentType = 'html' | 'txt' | 'md' | 'csv' | 'pdf' | 'docx';

/** Request for the pieces of a document. `charset` is the label its sender declares; a byte order mark overrides it. */
export interface DocumentQuestion {
  type: DocumentType;
  charset?: string | undefined;
}

/** Question to the child process. */
export type ChildQuestion = DocumentQuestion | ({ type: 'robots' } & RobotsQuestion);

/** Loads the parser for a question, so that loading does not count toward the document's deadline. */
export async function prepare({ type }: ChildQuestion): Promise<void> {
  if (type === 'pdf') await import('./pdf.ts');
  else if (type === 'docx') await import('./docx.ts');
  else if (type === 'html') await import('./html.ts');
}

/** Returns a document's pieces, or whether a robots.txt allows a URL. Throws Unreadable with a reason, and passes on parser errors. */
export async function extract(question: ChildQuestion, bytes: Buffer): Promise<Piece[] | boolean> {
  switch (question.type) {
    case 'robots':
      return allowedBy(bytes, question);
    case 'pdf':
      return await (await import('./pdf.ts')).readPdf(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length));
    case 'docx':
      return await (await import('./docx.ts')).readDocx(bytes);
    case 'html':
      return (await import('./html.ts')).readWebPage(decodedPage(bytes, question.charset));
    case 'md':
      return splitMarkdown(decodedText(bytes, question.charset));
    case 'csv':
      return splitCsv(decodedText(bytes, question.charset));
    case 'txt':
      return splitText(decodedText(bytes, question.charset));
  }
}
