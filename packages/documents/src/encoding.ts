import { isUtf8 } from 'node:buffer';

/** Encodings detected in plain text that declares none. */
export type PlainEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** Encodings by their byte order marks. */
const encodingsByMark: [mark: string, PlainEncoding][] = [
  ['efbbbf', 'utf-8'],
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
];
/**
 * Bytes that never occur in windows-1252 text. They are the MIME Sniffing standard's binary data bytes, and the bytes without a
 * windows-1252 character, which occur in most text in multi-byte encodings.
 */
const binaryBytes = [
  ...Array.from({ length: 0x20 }, (_, byte) => byte).filter((byte) => ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)),
  ...[0x81, 0x8d, 0x8f, 0x90, 0x9d],
];
/** Bytes examined to detect UTF-16 without a byte order mark. */
const sampleBytes = 65_536;
/** Control characters that never occur in text. */
const control = /[^\P{Cc}\t-\r]/u;
/** Unassigned and private-use characters, which never occur in meaningful text. */
const unknown = /[\p{Cn}\p{Co}]/u;

/** Detects the encoding of text that declares none. Returns undefined if it is not text in a detectable encoding. Takes linear time. */
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
 * Returns the byte order in which the bytes are UTF-16 text. Such text contains spaces, line ends, digits or other ASCII characters. In
 * the wrong byte order these become ideographs or unassigned characters.
 */
function unmarkedUtf16(bytes: Buffer): PlainEncoding | undefined {
  if (bytes.length % 2 !== 0) return undefined;
  const [little, big] = [asciiIn(bytes, 'utf-16le'), asciiIn(bytes, 'utf-16be')];
  const sample = bytes.subarray(0, sampleBytes);
  // UTF-8 text with a NUL is not UTF-16 text, although pairs of its bytes are ideographs.
  const isText = isUtf8(sample) && !control.test(sample.toString('latin1').replaceAll('\0', ''));
  const least = isText ? (sample.length * 3) / 8 : 1;
  if (Math.max(little, big) < least) return undefined;
  return little >= big ? 'utf-16le' : 'utf-16be';
}

/** Returns the number of ASCII characters in UTF-16 text; 0 if the bytes are not text. */
function asciiIn(bytes: Buffer, encoding: PlainEncoding): number {
  try {
    const text = sampleOf(bytes, encoding, true);
    return control.test(text) || unknown.test(text) ? 0 : text.length - text.replace(/[\0-\x7f]/g, '').length;
  } catch {
    return 0;
  }
}
