import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { maxEncodings, zstdWindowLog } from './decompress.ts';

/** Maximum bytes read of a response, after decompression. */
export const maxResponseBytes = 64 * 1024;
/** Bytes kept and shown of a response, unless the caller says otherwise. */
export const maxShownBytes = 2 * 1024;
/** Maximum compressed bytes read: incompressible data grows by its framing. */
export const maxCompressedBytes = maxResponseBytes + 1024;

/** Responses with a status below 200 that may come before the response itself: an endless row of them costs more than its bytes. */
export const maxInformational = 20;

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const decoders: Record<string, Decoder> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? promisify(inflate) : promisify(inflateRaw))(bytes, options),
  br: promisify(brotliDecompress),
  zstd: (bytes, options) =>
    promisify(zstdDecompress)(bytes, { ...options, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
};

/** Servers send "deflate" with and without the zlib header. */
function hasZlibHeader(bytes: Buffer): boolean {
  return bytes.length >= 2 && (bytes[0]! & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0;
}

/**
 * Returns a decompressed response, or 'too_large' beyond 64 KiB. An unknown encoding, or bytes that are not in it, leave
 * the response as it came: the endpoint's decision is in its status.
 */
export async function decodeResponse(bytes: Buffer, contentEncoding: string): Promise<Buffer | 'too_large'> {
  const encodings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  let decoded = bytes;
  for (const encoding of encodings.slice(-maxEncodings).reverse()) {
    if (!Object.hasOwn(decoders, encoding)) break;
    try {
      decoded = await decoders[encoding]!(decoded, { maxOutputLength: maxResponseBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return 'too_large';
      break;
    }
  }
  return decoded.length > maxResponseBytes ? 'too_large' : decoded;
}

const encoder = new TextEncoder();
let scratch = new Uint8Array(maxShownBytes);

function scratchOf(bytes: number): Uint8Array {
  if (scratch.length < bytes) scratch = new Uint8Array(bytes);
  return scratch.subarray(0, bytes);
}

/** Returns the beginning of a response as text that PostgreSQL can store: at most `most` bytes of UTF-8, whole characters, without NUL. */
export function shownText(bytes: Buffer, most = maxShownBytes): string {
  if (bytes.length === 0) return '';
  const text = bytes.toString('utf8', 0, most).replaceAll('\0', '\ufffd');
  const { read } = encoder.encodeInto(text, scratchOf(most));
  const shown = text.slice(0, read);
  // A character cut in half shows as a replacement character at the very end.
  return bytes.length > most ? shown.replace(/\ufffd$/, '') : shown;
}
