import type { AiResult } from './ask-ai.ts';
import type { FreeSlots } from './planning.sql.ts';
import { RecentSet } from './recent-set.ts';

const maxPerAccount = 4;
const maxSlowAccounts = 1_000;

/**
 * Who has how many plans in the making in this process, and what can be begun: `most` at once, 4 of an account. A quarter is kept for
 * accounts that have none in the making. An account whose AI let a call run into its timeout has one at a time, until a call is
 * answered: it can hold one slot for so long, not four.
 */
export class PlanningSlots {
  readonly #most: number;
  readonly #runningOf = new Map<string, number>();
  readonly #slow = new RecentSet(maxSlowAccounts);
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  free(): FreeSlots {
    const accounts = [...new Set([...this.#runningOf.keys(), ...this.#slow.values()])].map((account_id) => {
      const most = this.#slow.has(account_id) ? 1 : maxPerAccount;
      return { account_id, running: this.#runningOf.get(account_id) ?? 0, most };
    });
    const kept = Math.floor(this.#most / 4);
    return { free: this.#most - this.#running, kept, perAccount: maxPerAccount, accounts };
  }

  begin(accountId: string): void {
    this.#running++;
    this.#runningOf.set(accountId, (this.#runningOf.get(accountId) ?? 0) + 1);
  }

  end(accountId: string): void {
    this.#running--;
    const others = this.#runningOf.get(accountId)! - 1;
    if (others === 0) this.#runningOf.delete(accountId);
    else this.#runningOf.set(accountId, others);
  }

  /** Learns from how a call of the account's AI ended. */
  learn(accountId: string, result: AiResult): void {
    if ('error' in result && result.hasTimedOut) this.#slow.add(accountId);
    else if (result.outcome === 'answered') this.#slow.delete(accountId);
  }
}
