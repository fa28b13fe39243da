import { type AccountDirectory, type Logger, LRUCache, WakeLoop } from '@customer-platform/service-kit';

/** Time after which an account is fetched again, if the gateway did not reply. */
const retryMs = 5000;
const maxFailed = 10_000;

export type AccountStandingsOptions = {
  accounts: Pick<AccountDirectory, 'known' | 'learn'>;
  log: Logger;
  /** Called when something was learned of an account. */
  learned: (accountId: string) => void;
};

/**
 * Says whose deliveries may be sent: nothing of a suspended account is. An account that is not known, or that changed, is asked for
 * first; where the gateway does not reply, what was last known of it holds, and an account of which nothing ever was may send.
 */
export class AccountStandings {
  readonly #options: AccountStandingsOptions;
  /** Accounts that were suspended when last heard of. */
  readonly #suspended = new Set<string>();
  readonly #asking = new Set<string>();
  /** By account, the time at which the gateway did not reply. */
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

  /** Accounts that are suspended, of those that were ever asked about here. */
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
      await accounts.learn(ids);
    } catch (error) {
      log.warn({ err: error, accounts: ids.length }, 'accounts could not be asked for; what is known of them holds');
    }
    for (const accountId of ids) {
      this.#asking.delete(accountId);
      if (accounts.known(accountId) === undefined) this.#failedAtMs.set(accountId, performance.now());
      else this.#failedAtMs.delete(accountId);
      learned(accountId);
    }
  }
}
