import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { FileError } from '../errors.ts';
import { fileFault } from '../file-faults.ts';

/** Encodings that a file of contacts may have. */
type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** A file of text: its whole content was decoded once, so that reading it again meets no surprise. */
export interface TextFile {
  path: string;
  encoding: Encoding;
  /** SHA-256 of its bytes, in hexadecimal. */
  hash: string;
}

/** Bytes at the beginning that tell an encoding without a byte order mark. */
const headBytes = 65_536;
/**
 * Characters of the bytes 80 to 9F of windows-1252; those that it leaves undefined stand for themselves. Node 22 and 23 read them as those of
 * ISO 8859-1: https://github.com/nodejs/node/issues/56542
 */
const upperHalf = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const undefinedBytes = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
/** Characters that text has none of: control characters other than tab, line feed, vertical tab, form feed and carriage return. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell text from other content
const binary = /[\0-\x08\x0e-\x1f]/;

/** Opens a file of text: UTF-8, UTF-16, or windows-1252 where it is neither. Throws FileError for any other content, and if it cannot be read. */
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
    `${path} is not text in UTF-8, UTF-16 or windows-1252: save it as CSV in UTF-8, or as JSON Lines. A spreadsheet's own format is not read`,
  );
}

/** Yields a file's text in pieces, without its byte order mark. Throws FileError where it is no longer what it was. */
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

/** Returns the encodings that a file can have, the likeliest first: by its byte order mark, else by where its zero bytes are. */
function encodingsOf(head: Buffer): Encoding[] {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return ['utf-16le'];
  if (first === 0xfe && second === 0xff) return ['utf-16be'];
  if (!head.includes(0)) return ['utf-8', 'windows-1252'];
  const zeros = [0, 1].map((parity) => head.filter((byte, index) => byte === 0 && index % 2 === parity).length);
  return zeros[0]! > zeros[1]! ? ['utf-16be'] : ['utf-16le'];
}

/** Returns a function that decodes bytes after those that it was given before, or their end. It throws for what is not text of the encoding. */
function decoderOf(encoding: Encoding): (bytes?: Buffer) => string {
  if (encoding === 'windows-1252') return (bytes) => (bytes ? decodeWindows1252(bytes) : '');
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (bytes) => (bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode());
}

function decodeWindows1252(bytes: Buffer): string {
  if (undefinedBytes.some((byte) => bytes.includes(byte))) throw new TypeError('a byte is undefined in windows-1252');
  return bytes.toString('latin1').replace(/[\x80-\x9f]/g, (character) => upperHalf[character.charCodeAt(0) - 0x80]!);
}

/** Returns a function that says whether bytes after those that it was given before, or their end, are text of an encoding. */
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
