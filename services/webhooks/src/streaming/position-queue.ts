import type { Position } from './streaming.sql.ts';

/** Positions that one statement reads from: bounds its bytes, about a megabyte for each at the very most. */
const maxRead = 16;
/** Those of one account while others wait: bounds how long it keeps them waiting. */
const maxBesideOthers = 4;

/**
 * Streams to read for, by account and position. Accounts take turns, however many positions each has; an account's positions are read from
 * in the order in which they came. A step takes the same time however many wait.
 */
export class PositionQueue<Waiting extends Position> {
  /** The account that has waited longest for its turn is first. */
  readonly #byAccount = new Map<string, Map<string, Set<Waiting>>>();

  get isEmpty(): boolean {
    return this.#byAccount.size === 0;
  }

  add(stream: Waiting): void {
    const positions = this.#byAccount.get(stream.accountId) ?? new Map<string, Set<Waiting>>();
    const key = keyOf(stream);
    const alike = positions.get(key) ?? new Set();
    this.#byAccount.set(stream.accountId, positions.set(key, alike.add(stream)));
  }

  /** Takes a stream out, at the position at which it was added, if it is still there. */
  remove(stream: Waiting): void {
    const positions = this.#byAccount.get(stream.accountId);
    const alike = positions?.get(keyOf(stream));
    if (!positions || !alike?.delete(stream) || alike.size > 0) return;
    positions.delete(keyOf(stream));
    if (positions.size === 0) this.#byAccount.delete(stream.accountId);
  }

  /** Takes out the streams of at most 16 positions, those of one position together; of one account at most 4 if others wait. */
  take(): Waiting[][] {
    const accounts = [...this.#byAccount.entries().take(maxRead)];
    const most = accounts.length > 1 ? Math.min(maxBesideOthers, Math.floor(maxRead / accounts.length)) : maxRead;
    return accounts.flatMap(([accountId, positions]) => {
      const taken = [...positions.entries().take(most)];
      for (const [key] of taken) positions.delete(key);
      this.#byAccount.delete(accountId);
      if (positions.size > 0) this.#byAccount.set(accountId, positions);
      return taken.map(([, alike]) => [...alike]);
    });
  }
}

function keyOf({ after, types }: Position): string {
  return `${after} ${types.join(',')}`;
}
