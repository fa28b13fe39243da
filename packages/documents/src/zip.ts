import { inflateRawSync } from 'node:zlib';
import { Unreadable } from './pieces.ts';

/** Entry of an archive's central directory. */
interface Entry {
  /** The raw bytes of the name, because decoding 20 MiB of names that are not UTF-8 takes 150 ms. */
  name: Buffer;
  method: number;
  compressedBytes: number;
  bytes: number;
  offset: number;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const [endLength, entryLength, localLength] = [22, 46, 30];
const maxCommentBytes = 65_535;
/** Maximum entries of an archive. */
export const maxEntries = 5_000;
const stored = 0;
const deflated = 8;

/** Returns whether bytes begin with a zip signature. */
export function isZip(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === localSignature;
}

/** Yields the entries of a zip archive up to the first invalid one; none if the directory is missing. Decompresses nothing. */
export function* zipEntries(archive: Buffer, end = endOfDirectory(archive)): Generator<Entry, void> {
  let at = end === -1 ? archive.length : archive.readUInt32LE(end + 16);
  while (at + entryLength <= end && archive.readUInt32LE(at) === entrySignature) {
    const nameEnd = at + entryLength + archive.readUInt16LE(at + 28);
    yield {
      name: archive.subarray(at + entryLength, nameEnd),
      method: archive.readUInt16LE(at + 10),
      compressedBytes: archive.readUInt32LE(at + 20),
      bytes: archive.readUInt32LE(at + 24),
      offset: archive.readUInt32LE(at + 42),
    };
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
}

/** Returns the index of the end-of-central-directory record, or -1. */
function endOfDirectory(archive: Buffer): number {
  const last = archive.length - endLength;
  const first = Math.max(0, last - maxCommentBytes);
  for (let at = last; at >= first; at--) if (archive.readUInt32LE(at) === endSignature) return at;
  return -1;
}

/**
 * Reads files of a zip archive, at most `maxBytes` in total. It sums the sizes that the archive states before it decompresses anything.
 * It never decompresses a file beyond its stated size. Throws Unreadable.
 */
export class BoundedZip {
  readonly #archive: Buffer;
  readonly #entries: Map<string, Entry>;
  readonly #maxBytes: number;
  #inflated = 0;

  constructor(archive: Buffer, { maxBytes, isWanted }: { maxBytes: number; isWanted: (name: string) => boolean }) {
    this.#archive = archive;
    this.#maxBytes = maxBytes;
    const end = endOfDirectory(archive);
    const count = end === -1 ? 0 : archive.readUInt16LE(end + 10);
    if (count > maxEntries) throw tooLarge();
    const listed = zipEntries(archive, end).take(count).toArray();
    if (end === -1 || listed.length < count) throw damaged();
    const named = listed.map((entry) => [entry.name.toString(), entry] as const);
    this.#entries = new Map(named.filter(([name]) => isWanted(name)));
    const stated = this.#entries.values().reduce((sum, { bytes }) => sum + bytes, 0);
    if (stated > maxBytes) throw tooLarge();
  }

  /** Names of all files that `isWanted` accepts. */
  get names(): string[] {
    return [...this.#entries.keys()];
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  read(name: string): Buffer {
    const entry = this.#entries.get(name);
    if (!entry) throw damaged();
    const at = entry.offset;
    if (at + localLength > this.#archive.length || this.#archive.readUInt32LE(at) !== localSignature) throw damaged();
    const begin = at + localLength + this.#archive.readUInt16LE(at + 26) + this.#archive.readUInt16LE(at + 28);
    const bytes = this.#archive.subarray(begin, begin + entry.compressedBytes);
    // Reading a file a second time counts a second time.
    this.#inflated += entry.bytes;
    if (this.#inflated > this.#maxBytes) throw tooLarge();
    if (entry.method === stored) return bytes;
    if (entry.method !== deflated) throw damaged();
    try {
      return inflateRawSync(bytes, { maxOutputLength: Math.max(1, entry.bytes) });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : damaged();
    }
  }
}

const damaged = () => new Unreadable('It is not a readable Word document; it may be damaged');
const tooLarge = () => new Unreadable('It is too large when unpacked');
