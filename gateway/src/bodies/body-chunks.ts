import { Readable } from 'node:stream';

/** A chunk of this many bytes is kept as it came. */
const largeBytes = 4_096;
/** Bytes of the first slab behind such a chunk, and of the largest. */
const [firstSlabBytes, maxSlabBytes] = [256, 16_384];

/**
 * A body in memory. Small chunks are copied together: a chunk of one byte would take a hundred times its length, and a
 * mebibyte of them a hundred mebibytes. Each slab is twice as large as the one before: together they take at most about twice what is in them.
 */
export class BodyChunks {
  #chunks: Buffer[] = [];
  #slab: Buffer | undefined;
  #filled = 0;
  #nextSlabBytes = firstSlabBytes;

  add(chunk: Buffer): void {
    if (chunk.length >= largeBytes) {
      this.#endSlab();
      this.#nextSlabBytes = firstSlabBytes;
      this.#chunks.push(chunk);
      return;
    }
    if (this.#slab && this.#filled + chunk.length > this.#slab.length) this.#endSlab();
    this.#slab ??= this.#newSlab(chunk.length);
    this.#filled += chunk.copy(this.#slab, this.#filled);
  }

  /** Returns the body as a stream, from its beginning each time. */
  stream(): Readable {
    this.#endSlab();
    const chunks = this.#chunks;
    let next = 0;
    return new Readable({
      read() {
        this.push(chunks[next++] ?? null);
      },
    });
  }

  /** Frees its memory: it has no stream from then on. */
  clear(): void {
    this.#chunks = [];
    this.#slab = undefined;
  }

  #newSlab(leastBytes: number): Buffer {
    const slab = Buffer.allocUnsafeSlow(Math.max(leastBytes, this.#nextSlabBytes));
    this.#nextSlabBytes = Math.min(2 * this.#nextSlabBytes, maxSlabBytes);
    return slab;
  }

  #endSlab(): void {
    if (!this.#slab) return;
    this.#chunks.push(this.#slab.subarray(0, this.#filled));
    this.#slab = undefined;
    this.#filled = 0;
  }
}
