import { isUtf8 } from 'node:buffer';

/** Encodings in which plain text is taken without a declaration. */
export type PlainEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** Encodings by their byte order marks. */
const encodingsByMark: [mark: string, PlainEncoding][] = [
  ['efbbbf', 'utf-8'],
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
];
/**
 * Bytes that no text in windows-1252 has: the MIME Sniffing standard's binary data bytes, and those to which windows-1252 assigns no
 * character, which most texts in multi-byte encodings have.
 */
const binaryBytes = [
  ...Array.from({ length: 0x20 }, (_, byte) => byte).filter((byte) => ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)),
  ...[0x81, 0x8d, 0x8f, 0x90, 0x9d],
];
/** Bytes looked at to tell UTF-16 without a byte order mark. */
const sampleBytes = 65_536;
/** Control characters that no text has. */
const control = /[^\P{Cc}\t-\r]/u;
/** Characters that no text has which can be understood: unassigned and private ones. */
const unknown = /[\p{Cn}\p{Co}]/u;

/** Returns the encoding of text that declares none, by its bytes; undefined if it is not text in an encoding that can be told. Takes linear time. */
export function plainEncoding(bytes: Buffer): PlainEncoding | undefined {
  const beginning = bytes.toString('hex', 0, 3);
  const marked = encodingsByMark.find(([mark]) => beginning.startsWith(mark))?.[1];
  if (marked) return control.test(sampleOf(bytes, marked)) ? undefined : marked;
  if (bytes.includes(0)) return unmarkedUtf16(bytes);
  if (isUtf8(bytes)) return 'utf-8';
  return binaryBytes.some((byte) => bytes.includes(byte)) ? undefined : 'windows-1252';
}

/** Decodes the beginning of a text. Throws a TypeError if `fatal` is true and it is malformed. */
function sampleOf(bytes: Buffer, encoding: PlainEncoding, fatal = false): string {
  return new TextDecoder(encoding, { fatal }).decode(bytes.subarray(0, sampleBytes), { stream: true });
}

/**
 * Returns the byte order in which bytes are text in UTF-16. Such text has blanks, line ends, digits or other ASCII characters, which
 * become ideographs or unassigned characters in the wrong order.
 */
function unmarkedUtf16(bytes: Buffer): PlainEncoding | undefined {
  if (bytes.length % 2 !== 0) return undefined;
  const [little, big] = [asciiIn(bytes, 'utf-16le'), asciiIn(bytes, 'utf-16be')];
  const sample = bytes.subarray(0, sampleBytes);
  // Text in UTF-8 with a NUL is none, though pairs of its bytes are ideographs.
  const isText = isUtf8(sample) && !control.test(sample.toString('latin1').replaceAll('\0', ''));
  const least = isText ? (sample.length * 3) / 8 : 1;
  if (Math.max(little, big) < least) return undefined;
  return little >= big ? 'utf-16le' : 'utf-16be';
}

/** Returns the number of ASCII characters in a text in UTF-16; 0 if it is no text. */
function asciiIn(bytes: Buffer, encoding: PlainEncoding): number {
  try {
    const text = sampleOf(bytes, encoding, true);
    return control.test(text) || unknown.test(text) ? 0 : text.length - text.replace(/[\0-\x7f]/g, '').length;
  } catch {
    return 0;
  }
}
