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

  /** Returns the body as a stream, once; its memory is freed as it is read. */
  stream(): Readable {
    this.#endSlab();
    const chunks = this.#chunks.reverse();
    this.#chunks = [];
    return new Readable({
      read() {
        this.push(chunks.pop() ?? null);
      },
    });
  }

  #endSlab(): void {
    if (!this.#slab) return;
    this.#chunks.push(this.#slab.subarray(0, this.#filled));
    this.#slab = undefined;
    this.#filled = 0;
  }
}
