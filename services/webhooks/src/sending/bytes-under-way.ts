import type { DueDelivery } from './outcome.ts';

/** Bytes of all deliveries under way: half a process's memory would be full of a few accounts' large events otherwise. */
const most = 32 * 1_048_576;
/** Part of what is free that one account may hold: alone it gets a quarter of all. */
const part = 1 / 3;
/** A delivery of so many bytes at most may always begin, and does not count: the number of tries under way bounds these. */
const smallBytes = 4_096;

type Sent = Pick<DueDelivery, 'envelope'>;

/**
 * Shares the memory for what is under way among accounts. One large delivery of an account may always begin, and every small one: who has nothing large under
 * way waits for nobody.
 */
export class BytesUnderWay {
  readonly #held = new Map<string, number>();
  #free = most;
  /** Counted once: what is refused comes again with each look. */
  readonly #bytes = new WeakMap<Sent, number>();

  /** Returns whether the account may have room for what a delivery sends. */
  mayTake(accountId: string, delivery: Sent): boolean {
    const bytes = this.#bytesOf(delivery);
    const held = this.#held.get(accountId) ?? 0;
    return held === 0 || bytes <= smallBytes || held + bytes <= this.#free * part;
  }

  /** Takes room for what a delivery sends. */
  take(accountId: string, delivery: Sent): void {
    const bytes = this.#bytesOf(delivery);
    if (bytes <= smallBytes) return;
    this.#held.set(accountId, (this.#held.get(accountId) ?? 0) + bytes);
    this.#free -= bytes;
  }

  giveBack(accountId: string, delivery: Sent): void {
    const bytes = this.#bytesOf(delivery);
    if (bytes <= smallBytes) return;
    const left = (this.#held.get(accountId) ?? 0) - bytes;
    if (left > 0) this.#held.set(accountId, left);
    else this.#held.delete(accountId);
    this.#free += bytes;
  }

  #bytesOf(delivery: Sent): number {
    const known = this.#bytes.get(delivery);
    if (known !== undefined) return known;
    const bytes = Buffer.byteLength(delivery.envelope);
    this.#bytes.set(delivery, bytes);
    return bytes;
  }
}
