/** Bytes of all deliveries under way: half a process's memory would be full of a few accounts' large events otherwise. */
const most = 32 * 1_048_576;
/** Part of what is free that one account may hold: alone it gets a quarter of all. */
const part = 1 / 3;

/**
 * Shares the memory for what is under way among accounts. One delivery of an account may always begin, however large: who has nothing under way
 * waits for nobody.
 */
export class BytesUnderWay {
  readonly #held = new Map<string, number>();
  #free = most;

  /** Takes room for a text; returns whether the account may have it. */
  tryTake(accountId: string, text: string): boolean {
    const bytes = Buffer.byteLength(text);
    const held = this.#held.get(accountId) ?? 0;
    if (held > 0 && held + bytes > this.#free * part) return false;
    this.#held.set(accountId, held + bytes);
    this.#free -= bytes;
    return true;
  }

  giveBack(accountId: string, text: string): void {
    const bytes = Buffer.byteLength(text);
    const left = (this.#held.get(accountId) ?? 0) - bytes;
    if (left > 0) this.#held.set(accountId, left);
    else this.#held.delete(accountId);
    this.#free += bytes;
  }
}
