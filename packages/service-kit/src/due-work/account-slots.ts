import { LRUCache } from 'lru-cache';

/** End of a run, as far as it decides how many of its lane and its account may run at once. */
export type RunEnd = 'responded' | 'timeout' | 'other';

/**
 * Part of the free slots that one account may hold: as the slots fill up everybody's part falls, so that some are always left for an
 * account that has none. Alone it gets a quarter of all.
 */
const part = 1 / 3;
/** The same of an account whose runs are slow, which takes nothing of the last eighth. */
const slowPart = 1 / 8;
const keptFromSlow = 1 / 8;
/** Part of what slow runs leave that runs which are not slow yet may hold: many that hang at one moment do not take all slots. */
const freshPart = 1 / 4;
/** Maximum number of accounts remembered as slow while nothing of theirs runs. */
const maxTimedOut = 10_000;

/**
 * Shares the slots of a process among accounts. An account is slow while one of its runs is, and after a timeout until a run of it responds
 * with none slow beside it.
 */
export class AccountSlots {
  readonly #most: number;
  readonly #accounts = new Map<string, { running: number; slow: number }>();
  readonly #timedOut = new LRUCache<string, true>({ max: maxTimedOut });
  #running = 0;
  #slow = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs under way. */
  get running(): number {
    return this.#running;
  }

  /** The same by account. */
  get owners(): { account: string; running: number }[] {
    return [...this.#accounts].map(([account, { running }]) => ({ account, running }));
  }

  get free(): number {
    return this.#most - this.#running;
  }

  /** Runs that may begin now, where those that are not slow yet have a part of their own. */
  get freeOfFresh(): number {
    const fresh = Math.ceil((this.#most - this.#slow) * freshPart) - (this.#running - this.#slow);
    return Math.min(this.free, fresh);
  }

  /** Returns how many more runs the account's part of the slots has room for. */
  freeOf(accountId: string): number {
    const { running = 0, slow = 0 } = this.#accounts.get(accountId) ?? {};
    const isSlow = slow > 0 || this.#timedOut.has(accountId);
    // Each that begins leaves one slot less to divide: `n` more may begin as long as running + n < (free - n) * part.
    const [slots, fraction] = isSlow ? [this.free - this.#most * keptFromSlow, slowPart] : [this.free, part];
    return Math.max(0, Math.ceil((slots * fraction - running) / (1 + fraction)));
  }

  /** Returns the accounts that run something and have no room for more. */
  atBound(): string[] {
    return [...this.#accounts.keys()].filter((accountId) => this.freeOf(accountId) === 0);
  }

  begin(accountId: string): void {
    this.#running++;
    const account = this.#accounts.get(accountId);
    if (account) account.running++;
    else this.#accounts.set(accountId, { running: 1, slow: 0 });
  }

  /** Notes that a run of the account has become slow. */
  slowDown(accountId: string): void {
    this.#slow++;
    this.#accounts.get(accountId)!.slow++;
  }

  end(accountId: string, wasSlow: boolean, end: RunEnd): void {
    const account = this.#accounts.get(accountId);
    if (!account) throw new RangeError(`nothing is running of ${accountId}`);
    this.#running--;
    account.running--;
    if (wasSlow) {
      this.#slow--;
      account.slow--;
    }
    if (account.running === 0) this.#accounts.delete(accountId);
    if (end === 'timeout') this.#timedOut.set(accountId, true);
    else if (end === 'responded' && account.slow === 0) this.#timedOut.delete(accountId);
  }
}
