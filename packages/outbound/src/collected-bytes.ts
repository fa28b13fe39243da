/** Bytes of a body that come in chunks, copied into one buffer: chunks that are kept are objects of 150 bytes each, also where they have a single byte. */
export class CollectedBytes {
  readonly #maxBytes: number;
  #held: Buffer;
  #size = 0;

  /** @param firstBytes size of the first buffer, which doubles as it fills up */
  constructor(firstBytes: number, maxBytes: number) {
    this.#held = Buffer.allocUnsafeSlow(Math.min(firstBytes, maxBytes));
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk; what is beyond `maxBytes` is left out. */
  add(chunk: Buffer): void {
    const wanted = Math.min(this.#size + chunk.length, this.#maxBytes);
    if (wanted > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(wanted, this.#held.length * 2)));
      this.#held.copy(larger, 0, 0, this.#size);
      this.#held = larger;
    }
    this.#size += chunk.copy(this.#held, this.#size);
  }

  /** All bytes so far. */
  get bytes(): Buffer {
    return this.#held.subarray(0, this.#size);
  }
}
