import { Readable, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { CollectedBytes } from './collected-bytes.ts';

export const maxEncodings = 3;
/** Maximum window of a zstd body on the web (RFC 9659): a decoder allocates what the frame asks for. */
export const zstdWindowLog = 23;

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

/**
 * Reads a whole body and decompresses it by its Content-Encoding. At most `maxBytes` are held, before, between and after its decoders,
 * so a decompression bomb is never expanded further, nor one within another that gives nothing. Throws BodyTooLarge beyond that, or returns
 * the beginning of the result if `cut`; throws UnknownEncoding, and whatever the source or a decoder throws.
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
  for (const encoding of encodings.reverse()) stream = decoded(bounded(stream, maxBytes), decoders[encoding]!);
  const collected = new CollectedBytes(firstBytes, maxBytes);
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes && !cut) throw new BodyTooLarge();
    collected.add(chunk);
    if (size > maxBytes) break;
  }
  return collected.bytes;
}

/** Initial size of the buffer that chunks are copied into: chunks kept until the end would reach the old generation of the heap. */
const firstBytes = 65_536;

async function* bounded(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > maxBytes) throw new BodyTooLarge();
    yield chunk;
  }
}

/** Decompresses on demand: a decoder stops while nobody reads from it. */
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
