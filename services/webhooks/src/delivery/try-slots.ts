import { LRUCache } from '@customer-platform/service-kit';

/** Maximum number of accounts remembered as slow while they have nothing under way. */
const maxTimedOut = 10_000;

/**
 * Part of the free slots that one account may hold: as the slots fill up, everybody's bound falls, so that some are always free for an
 * account that has none. Alone, an account gets a quarter of all slots.
 */
const share = 1 / 3;
/** The same of an account whose tries are slow, which takes nothing of the last eighth. */
const slowShare = 1 / 8;
const keptFromSlow = 1 / 8;

type AccountSlots = { inFlight: number; slow: number };

/**
 * Shares the slots of a process for tries among accounts. A try that has become slow leaves its place among those that begin; the
 * fewer slots are left, the fewer tries may begin at once, so that endpoints that all hang at one moment do not take them all. An account
 * is slow while a try of it is, and after a time-out until one of its tries succeeds with none slow beside it.
 */
export class TrySlots {
  readonly #most: number;
  readonly #accounts = new Map<string, AccountSlots>();
  readonly #timedOut = new LRUCache<string, true>({ max: maxTimedOut });
  #inFlight = 0;
  #slow = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether any further try may begin now. */
  hasRoom(): boolean {
    return this.#inFlight < this.#most && this.#inFlight - this.#slow < (this.#most - this.#slow) / 4;
  }

  /** Whether the account is below its bound. */
  isBelowBound(accountId: string): boolean {
    const account = this.#accounts.get(accountId);
    const free = this.#most - this.#inFlight;
    const isSlow = (account?.slow ?? 0) > 0 || this.#timedOut.has(accountId);
    const bound = isSlow ? (free - this.#most * keptFromSlow) * slowShare : free * share;
    return (account?.inFlight ?? 0) < bound;
  }

  /** Accounts that are at their bound: what is due of them is passed over. */
  atBound(): string[] {
    return [...this.#accounts.keys()].filter((accountId) => !this.isBelowBound(accountId));
  }

  begin(accountId: string): void {
    this.#inFlight++;
    const account = this.#accounts.get(accountId);
    if (account) account.inFlight++;
    else this.#accounts.set(accountId, { inFlight: 1, slow: 0 });
  }

  /** A try of the account that is under way has become slow. */
  slowDown(accountId: string): void {
    this.#slow++;
    this.#accounts.get(accountId)!.slow++;
  }

  end(accountId: string, wasSlow: boolean, result: TryEnd): void {
    const account = this.#accounts.get(accountId)!;
    this.#inFlight--;
    account.inFlight--;
    if (wasSlow) {
      this.#slow--;
      account.slow--;
    }
    if (account.inFlight === 0) this.#accounts.delete(accountId);
    if (result === 'timeout') this.#timedOut.set(accountId, true);
    else if (result === 'success' && account.slow === 0) this.#timedOut.delete(accountId);
  }
}

/** How a try ended, as far as it matters for how many more may be under way. */
export type TryEnd = 'success' | 'timeout' | 'other';
