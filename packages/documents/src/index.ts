export type { DocumentQuestion, RobotsQuestion } from './extract.ts';
export { type DocumentBytes, Extractor, type ExtractorOptions, Overtaxing } from './extractor.ts';
export { fileTypeOf } from './file-type.ts';
export { bytesOf, maxPieceLength, type Piece, refuseTooMuch, Unreadable } from './pieces.ts';
export { splitMarkdown } from './split.ts';
