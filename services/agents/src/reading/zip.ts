import { inflateRawSync } from 'node:zlib';
import { Unreadable } from './pieces.ts';

/** One file of an archive, by its central directory. */
interface Entry {
  method: number;
  compressedBytes: number;
  bytes: number;
  offset: number;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const endBytes = 22;
const maxCommentBytes = 65_535;
const maxEntries = 5_000;
const stored = 0;
const deflated = 8;

/**
 * Reads files of a zip archive, at most `maxBytes` of them all in all: what the archive says is added up before anything is inflated, and
 * no file is inflated beyond what was said of it. Throws Unreadable.
 */
export class BoundedZip {
  readonly #archive: Buffer;
  readonly #entries: Map<string, Entry>;
  readonly #maxBytes: number;
  #inflated = 0;

  constructor(archive: Buffer, { maxBytes, isWanted }: { maxBytes: number; isWanted: (name: string) => boolean }) {
    this.#archive = archive;
    this.#maxBytes = maxBytes;
    this.#entries = readEntries(archive, isWanted);
    const said = [...this.#entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    if (said > maxBytes) throw tooLarge();
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  read(name: string): Buffer {
    const entry = this.#entries.get(name);
    if (!entry) throw damaged();
    const at = entry.offset;
    if (at + 30 > this.#archive.length || this.#archive.readUInt32LE(at) !== localSignature) throw damaged();
    const begin = at + 30 + this.#archive.readUInt16LE(at + 26) + this.#archive.readUInt16LE(at + 28);
    const bytes = this.#archive.subarray(begin, begin + entry.compressedBytes);
    // A file that is read again and again counts again and again.
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

function readEntries(archive: Buffer, isWanted: (name: string) => boolean): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const end = endOfDirectory(archive);
  const count = archive.readUInt16LE(end + 10);
  if (count > maxEntries) throw tooLarge();
  let at = archive.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (at + 46 > archive.length || archive.readUInt32LE(at) !== entrySignature) throw damaged();
    const nameBytes = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameBytes);
    if (isWanted(name)) {
      entries.set(name, {
        method: archive.readUInt16LE(at + 10),
        compressedBytes: archive.readUInt32LE(at + 20),
        bytes: archive.readUInt32LE(at + 24),
        offset: archive.readUInt32LE(at + 42),
      });
    }
    at += 46 + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return entries;
}

function endOfDirectory(archive: Buffer): number {
  const first = Math.max(0, archive.length - endBytes - maxCommentBytes);
  for (let at = archive.length - endBytes; at >= first; at--) if (archive.readUInt32LE(at) === endSignature) return at;
  throw damaged();
}

const damaged = () => new Unreadable('It is not a readable Word document; it may be damaged');
const tooLarge = () => new Unreadable('It is too large when unpacked');
