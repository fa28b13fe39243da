import { type AccountDirectory, type Logger, LRUCache, WakeLoop } from '@customer-platform/service-kit';

/** If the gateway does not reply, an account is fetched again after this time. */
const retryMs = 5000;
const maxFailed = 10_000;

export type AccountStandingsOptions = {
  accounts: Pick<AccountDirectory, 'known' | 'fetch'>;
  log: Logger;
  /** Called after each attempt to fetch an account, also after a failed one. */
  learned: (accountId: string) => void;
};

/**
 * Decides which accounts may send: suspended accounts may not. An unknown or changed account waits until it is
 * fetched. If the gateway does not reply, the account's last known standing applies; an account without one may send.
 */
export class AccountStandings {
  readonly #options: AccountStandingsOptions;
  /** Accounts that were suspended when last fetched. */
  readonly #suspended = new Set<string>();
  readonly #asking = new Set<string>();
  /** Maps an account to the time of its last failed fetch. */
  readonly #failedAtMs = new LRUCache<string, number>({ max: maxFailed });
  readonly #loop: WakeLoop;

  constructor(options: AccountStandingsOptions) {
    this.#options = options;
    const { log } = options;
    this.#loop = new WakeLoop('standings', { everyMs: 60_000, slowestRetryMs: retryMs, log }, () => this.#learn());
  }

  maySend(accountId: string): boolean {
    const account = this.#options.accounts.known(accountId);
    if (account !== undefined) {
      if (account?.suspended) this.#suspended.add(accountId);
      else this.#suspended.delete(accountId);
      return !account?.suspended;
    }
    this.#ask(accountId);
    return this.#failedAtMs.has(accountId) && !this.#suspended.has(accountId);
  }

  /** Returns the suspended accounts among those this process has checked. */
  suspended(): string[] {
    for (const accountId of this.#suspended) this.maySend(accountId);
    return [...this.#suspended];
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  #ask(accountId: string): void {
    const failedAtMs = this.#failedAtMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
    if (this.#asking.has(accountId) || performance.now() - failedAtMs < retryMs) return;
    this.#asking.add(accountId);
    this.#loop.wake();
  }

  async #learn(): Promise<undefined> {
    const ids = [...this.#asking];
    if (ids.length === 0) return;
    const { accounts, log, learned } = this.#options;
    try {
      await accounts.fetch(ids);
    } catch (error) {
      log.warn({ err: error, accounts: ids.length }, 'could not fetch accounts; their last known standing applies');
    }
    for (const accountId of ids) {
      this.#asking.delete(accountId);
      if (accounts.known(accountId) === undefined) this.#failedAtMs.set(accountId, performance.now());
      else this.#failedAtMs.delete(accountId);
      learned(accountId);
    }
  }
}
