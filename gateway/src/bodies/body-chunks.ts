import { Readable } from 'node:stream';

const slabBytes = 16_384;

/**
 * A body in memory. Small chunks are copied together: a chunk of one byte would take a hundred times its length, and a
 * mebibyte of them a hundred mebibytes.
 */
export class BodyChunks {
  #chunks: Buffer[] = [];
  #slab: Buffer | undefined;
  #filled = 0;

  add(chunk: Buffer): void {
    if (chunk.length >= slabBytes / 4) {
      this.#endSlab();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#slab && this.#filled + chunk.length > slabBytes) this.#endSlab();
    this.#slab ??= Buffer.allocUnsafeSlow(slabBytes);
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

  #endSlab(): void {
    if (!this.#slab) return;
    this.#chunks.push(this.#slab.subarray(0, this.#filled));
    this.#slab = undefined;
    this.#filled = 0;
  }
}
