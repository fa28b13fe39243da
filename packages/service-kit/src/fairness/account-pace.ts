import { LRUCache } from 'lru-cache';

/** Accounts that are remembered: one that is forgotten begins again. */
const maxAccounts = 10_000;
/** Most that an account owes, in seconds: it waits no longer than that for what it got. */
const maxOwedSeconds = 60;

interface Budget {
  left: number;
  atMs: number;
}

/** Limits how much of something one account gets: `perSecond`, and as much as that at once. */
export class AccountPace {
  readonly #perSecond: number;
  readonly #nowMs: () => number;
  readonly #budgets = new LRUCache<string, Budget>({ max: maxAccounts });
  /** Accounts that have spent what they had. */
  readonly #spent = new LRUCache<string, Budget>({ max: maxAccounts });

  constructor(perSecond: number, nowMs: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#nowMs = nowMs;
  }

  /** Notes what an account got; it may be more than it had, and less than nothing where it got less than was noted before. */
  spend(accountId: string, count: number): void {
    const budget = this.#budgets.get(accountId) ?? { left: this.#perSecond, atMs: this.#nowMs() };
    this.#refill(budget);
    budget.left = Math.min(this.#perSecond, Math.max(budget.left - count, -maxOwedSeconds * this.#perSecond));
    this.#budgets.set(accountId, budget);
    if (budget.left <= 0) this.#spent.set(accountId, budget);
  }

  /** Returns the accounts that have to wait. */
  waiting(): string[] {
    for (const [accountId, budget] of this.#spent.entries()) {
      this.#refill(budget);
      if (budget.left > 0) this.#spent.delete(accountId);
    }
    return [...this.#spent.keys()];
  }

  /** Returns the ms until the first of them may go on. */
  waitMs(): number {
    const most = Math.max(...[...this.#spent.values()].map(({ left }) => left));
    return Math.ceil(((1 - most) * 1000) / this.#perSecond);
  }

  #refill(budget: Budget): void {
    const now = this.#nowMs();
    budget.left = Math.min(this.#perSecond, budget.left + ((now - budget.atMs) * this.#perSecond) / 1000);
    budget.atMs = now;
  }
}
