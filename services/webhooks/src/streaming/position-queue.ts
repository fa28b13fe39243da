import type { Position } from './streaming.sql.ts';

/** Maximum number of positions per statement. Bounds its result to about a megabyte per position in the worst case. */
const maxRead = 16;
/** Maximum number of positions of one account while others wait, which bounds their wait. */
const maxPerAccount = 4;

/**
 * Queues streams by account and position. Accounts take turns, however many positions each has. An account's positions
 * are read in order of arrival. Each step takes constant time.
 */
export class PositionQueue<Waiting extends Position> {
  /** Ordered by waiting time, longest first. */
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

  /** Removes a queued stream. Its position must not have changed since it was added. */
  remove(stream: Waiting): void {
    const positions = this.#byAccount.get(stream.accountId);
    const alike = positions?.get(keyOf(stream));
    if (!positions || !alike?.delete(stream) || alike.size > 0) return;
    positions.delete(keyOf(stream));
    if (positions.size === 0) this.#byAccount.delete(stream.accountId);
  }

  /** Removes and returns the streams of at most 16 positions, grouped by position. Takes at most 4 per account if others wait. */
  take(): Waiting[][] {
    const accounts = [...this.#byAccount.entries().take(maxRead)];
    const most = accounts.length > 1 ? Math.min(maxPerAccount, Math.floor(maxRead / accounts.length)) : maxRead;
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
