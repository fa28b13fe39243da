import { LRUCache } from 'lru-cache';

/** How a run ended. It decides how many runs of its lane (an account, or one of its channels) may be under way at once. */
export type RunEnd = 'responded' | 'timeout' | 'other';

/**
 * Fraction of the free slots that one account may hold. As the slots fill up, every account's share falls, so that some stay free for an account
 * without any. One account alone gets a quarter of all slots: x = (1 − x) / 3.
 */
const part = 1 / 3;
/** The fraction for an account with slow runs. Such an account takes none of the last eighth of the slots. */
const slowPart = 1 / 8;
const keptFromSlow = 1 / 8;
/** Fraction of the slots left by slow runs that other runs may hold. This keeps a burst of hanging runs from taking all slots. */
const freshPart = 1 / 4;
/** Maximum number of accounts remembered as slow while they have no runs under way. */
const maxTimedOut = 10_000;

/**
 * Shares the slots of a process among accounts. An account is slow while one of its runs is slow. After a timeout it stays slow until one of its
 * runs responds while none of the others is slow.
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

  /** Runs under way, by account. */
  get owners(): { account: string; running: number }[] {
    return [...this.#accounts].map(([account, { running }]) => ({ account, running }));
  }

  get free(): number {
    return this.#most - this.#running;
  }

  /** Runs that may begin now, if runs that are not slow yet are limited to their own share. */
  get freeOfFresh(): number {
    const fresh = Math.ceil((this.#most - this.#slow) * freshPart) - (this.#running - this.#slow);
    return Math.min(this.free, fresh);
  }

  /** Returns how many more runs the account's share of the slots has room for. */
  freeOf(accountId: string): number {
    const { running = 0, slow = 0 } = this.#accounts.get(accountId) ?? {};
    const isSlow = slow > 0 || this.#timedOut.has(accountId);
    // Each new run leaves one slot less to share. `n` more may begin as long as running + n < (free - n) * part.
    const [slots, fraction] = isSlow ? [this.free - this.#most * keptFromSlow, slowPart] : [this.free, part];
    return Math.max(0, Math.ceil((slots * fraction - running) / (1 + fraction)));
  }

  /** Returns the accounts that have runs under way and no room for more. */
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
    if (!account) throw new RangeError(`no run of account ${accountId} is under way`);
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
