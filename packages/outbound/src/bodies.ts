import { Readable, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** Maximum bytes read of the response to a POST, after decompression. */
export const maxResponseBytes = 64 * 1024;
/** Maximum growth in bytes of incompressible data in its encoding. */
const encodingBytes = 1024;
/** Maximum compressed bytes read of the response to a POST. */
export const maxCompressedBytes = maxResponseBytes + encodingBytes;

/** Maximum informational responses (1xx) before the final one: handling an endless series of them costs more than its bytes. */
export const maxInformational = 20;

const maxEncodings = 3;
/** Maximum window of a zstd body on the web (RFC 9659): a decoder allocates the window that the frame declares. */
const zstdWindowLog = 23;

const decoders: Record<string, (firstByte: number) => Transform> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Servers send "deflate" with and without the zlib header.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
};

/** Error of a body that is larger than its limit. */
export class BodyTooLarge extends Error {}

/** Error of a body in an unknown encoding. */
export class UnknownEncoding extends Error {}

/** Collects the chunks of a body in one buffer. A kept chunk costs an object of 150 bytes, even if it holds a single byte. */
export class CollectedBytes {
  readonly #maxBytes: number;
  #held: Buffer;
  #size = 0;

  /** @param firstBytes size of the first buffer, which doubles as it fills */
  constructor(firstBytes: number, maxBytes: number) {
    this.#held = Buffer.allocUnsafeSlow(Math.min(firstBytes, maxBytes));
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk up to `maxBytes` in total; returns whether the whole chunk was added. */
  add(chunk: Buffer): boolean {
    const wanted = Math.min(this.#size + chunk.length, this.#maxBytes);
    if (wanted > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(wanted, this.#held.length * 2)));
      this.#held.copy(larger, 0, 0, this.#size);
      this.#held = larger;
    }
    const added = chunk.copy(this.#held, this.#size);
    this.#size += added;
    return added === chunk.length;
  }

  /** All bytes added so far. */
  get bytes(): Buffer {
    return this.#held.subarray(0, this.#size);
  }
}

/**
 * Reads a whole body and decompresses it by its Content-Encoding. Holds little more than `maxBytes` before, between and
 * after the decoders, which stops nested decompression bombs too. Beyond `maxBytes` it throws BodyTooLarge, or returns
 * the beginning of the result if `cut`. Throws UnknownEncoding, and the errors of the source and the decoders.
 */
export async function readBody(
  source: AsyncIterable<Buffer>,
  contentEncoding: string,
  { maxBytes, cut }: { maxBytes: number; cut: boolean },
): Promise<Buffer> {
  const encodings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  if (encodings.length > maxEncodings || encodings.some((name) => !Object.hasOwn(decoders, name))) {
    throw new UnknownEncoding(contentEncoding);
  }
  let stream = source;
  for (const encoding of encodings.reverse()) {
    stream = decoded(bounded(stream, maxBytes + encodingBytes), decoders[encoding]!);
  }
  const collected = new CollectedBytes(firstBytes, maxBytes);
  for await (const chunk of stream) {
    if (collected.add(chunk)) continue;
    if (!cut) throw new BodyTooLarge();
    break;
  }
  return collected.bytes;
}

/** Initial size of the buffer that collects chunks. Chunks kept until the end would reach the old generation of the heap. */
const firstBytes = 65_536;

async function* bounded(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > maxBytes) throw new BodyTooLarge();
    yield chunk;
  }
}

/** Decompresses on demand: the decoder pauses while the consumer does not read. */
async function* decoded(
  source: AsyncIterable<Buffer>,
  decoderFor: (firstByte: number) => Transform,
): AsyncGenerator<Buffer> {
  const iterator = source[Symbol.asyncIterator]();
  let first = await iterator.next();
  while (!first.done && first.value.length === 0) first = await iterator.next();
  if (first.done) return;
  const whole = async function* () {
    yield first.value as Buffer;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  };
  const decoder = decoderFor(first.value.readUInt8(0));
  const input = Readable.from(whole(), { objectMode: false, highWaterMark: 16_384 });
  input.on('error', (error) => decoder.destroy(error));
  input.pipe(decoder);
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } finally {
    input.destroy();
    decoder.destroy();
    await iterator.return?.();
  }
}

/**
 * Returns a decompressed response, or 'too_large' beyond 64 KiB. An unknown encoding or invalid compressed bytes leave
 * the response unchanged, because its status holds the endpoint's decision.
 */
export async function decodeResponse(bytes: Buffer, contentEncoding: string): Promise<Buffer | 'too_large'> {
  try {
    return await readBody(Readable.from([bytes]), contentEncoding, { maxBytes: maxResponseBytes, cut: false });
  } catch (error) {
    return error instanceof BodyTooLarge || bytes.length > maxResponseBytes ? 'too_large' : bytes;
  }
}

const encoder = new TextEncoder();

/** Returns the beginning of a response for PostgreSQL: at most `most` bytes of UTF-8, whole characters, no NUL. */
export function shownText(bytes: Buffer, most = 2 * 1024): string {
  if (bytes.length === 0) return '';
  const text = bytes.toString('utf8', 0, most).replaceAll('\0', '\ufffd');
  const { read } = encoder.encodeInto(text, Buffer.allocUnsafe(most));
  const shown = text.slice(0, read);
  // A character cut in half shows as a replacement character at the very end.
  return bytes.length > most ? shown.replace(/\ufffd$/, '') : shown;
}
