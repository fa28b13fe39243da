import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { FileError } from '../errors.ts';
import { fileFault } from '../file-faults.ts';

/** Supported encodings. */
type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** A text file whose whole content has been decoded once, so the encoding is certain. */
export interface TextFile {
  path: string;
  encoding: Encoding;
  /** SHA-256 of the bytes, in hexadecimal. */
  hash: string;
}

/** Number of bytes that are read to detect an encoding without a byte order mark. */
const headBytes = 65_536;
/**
 * Characters of the bytes 80 to 9F in windows-1252; undefined bytes stand for themselves. Node 22 and 23 decode these bytes as ISO 8859-1:
 * https://github.com/nodejs/node/issues/56542
 */
const upperHalf = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const undefinedBytes = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
/** Characters that do not occur in text: control characters other than tab, line feed, vertical tab, form feed and carriage return. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters reveal binary content
const binary = /[\0-\x08\x0e-\x1f]/;

/** Opens a text file in UTF-8, UTF-16, or else windows-1252. Throws FileError for other content, or if the file cannot be read. */
export async function openTextFile(path: string): Promise<TextFile> {
  try {
    let candidates = encodingsOf(await headOf(path)).map((encoding) => ({ encoding, takes: testOf(encoding) }));
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk as Buffer);
      candidates = candidates.filter(({ takes }) => takes(chunk as Buffer));
    }
    const found = candidates.find(({ takes }) => takes());
    if (found) return { path, encoding: found.encoding, hash: hash.digest('hex') };
  } catch (error) {
    throw new FileError(`${path} cannot be read: ${fileFault(error)}`);
  }
  throw new FileError(
    `${path} is not text in UTF-8, UTF-16 or windows-1252: save it as CSV in UTF-8, or as JSON Lines, since spreadsheet formats such as .xlsx are not supported`,
  );
}

/** Yields a file's text in chunks, without its byte order mark. Throws FileError if the file has changed or cannot be read. */
export async function* textOf({ path, encoding }: TextFile): AsyncGenerator<string, void, undefined> {
  const decode = decoderOf(encoding);
  try {
    for await (const chunk of createReadStream(path)) yield decode(chunk as Buffer);
    yield decode();
  } catch (error) {
    throw new FileError(`${path} cannot be read: ${fileFault(error)}`);
  }
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Returns a file's possible encodings, the likeliest first, by its byte order mark or else by the positions of its zero bytes. */
function encodingsOf(head: Buffer): Encoding[] {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return ['utf-16le'];
  if (first === 0xfe && second === 0xff) return ['utf-16be'];
  if (!head.includes(0)) return ['utf-8', 'windows-1252'];
  const zeros = [0, 1].map((parity) => head.filter((byte, index) => byte === 0 && index % 2 === parity).length);
  return zeros[0]! > zeros[1]! ? ['utf-16be'] : ['utf-16le'];
}

/** Returns a streaming decoder. A call without bytes ends the stream. It throws for bytes that are invalid in the encoding. */
function decoderOf(encoding: Encoding): (bytes?: Buffer) => string {
  if (encoding === 'windows-1252') return (bytes) => (bytes ? decodeWindows1252(bytes) : '');
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (bytes) => (bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode());
}

function decodeWindows1252(bytes: Buffer): string {
  if (undefinedBytes.some((byte) => bytes.includes(byte))) throw new TypeError('a byte is undefined in windows-1252');
  return bytes.toString('latin1').replace(/[\x80-\x9f]/g, (character) => upperHalf[character.charCodeAt(0) - 0x80]!);
}

/** Returns a streaming test of whether bytes are text in an encoding. A call without bytes ends the stream. */
function testOf(encoding: Encoding): (bytes?: Buffer) => boolean {
  const decode = decoderOf(encoding);
  return (bytes) => {
    try {
      return !binary.test(decode(bytes));
    } catch {
      return false;
    }
  };
}
