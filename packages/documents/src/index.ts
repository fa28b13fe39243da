export type { DocumentQuestion } from './extract.ts';
export { type DocumentBytes, Extractor, type ExtractorOptions, LimitExceeded } from './extractor.ts';
export { fileTypeOf } from './file-type.ts';
export { bytesOf, isVisible, maxPieceLength, type Piece, refuseTooMuch, Unreadable } from './pieces.ts';
export type { RobotsQuestion } from './robots.ts';
export { splitMarkdown } from './split.ts';
