import type { DueDelivery } from './outcome.ts';

/** Limit in bytes for all deliveries in flight. Without it, large events of a few accounts could fill half the heap. */
const most = 32 * 1_048_576;
/** Bytes that one account may hold, as a fraction of the free bytes. An account alone thus gets a quarter: x = (1 − x) / 3. */
const part = 1 / 3;
/** A delivery of at most this many bytes can always begin and is not counted. The limit on attempts in flight bounds these. */
const smallBytes = 4_096;

type Sent = Pick<DueDelivery, 'envelope'>;

/**
 * Shares the memory for deliveries in flight among accounts. Small deliveries can always begin. An account with no
 * large delivery in flight can always begin one.
 */
export class BytesUnderWay {
  readonly #held = new Map<string, number>();
  #free = most;
  /** Computed once, because every look checks a refused delivery again. */
  readonly #bytes = new WeakMap<Sent, number>();

  /** Returns whether the account has room for the delivery. */
  mayTake(accountId: string, delivery: Sent): boolean {
    const bytes = this.#bytesOf(delivery);
    const held = this.#held.get(accountId) ?? 0;
    return held === 0 || bytes <= smallBytes || held + bytes <= this.#free * part;
  }

  /** Reserves room for the delivery. */
  take(accountId: string, delivery: Sent): void {
    const bytes = this.#bytesOf(delivery);
    if (bytes <= smallBytes) return;
    this.#held.set(accountId, (this.#held.get(accountId) ?? 0) + bytes);
    this.#free -= bytes;
  }

  release(accountId: string, delivery: Sent): void {
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
