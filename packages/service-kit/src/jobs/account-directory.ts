import type { AccountContext } from '@customer-platform/contracts/core';
import { LRUCache } from 'lru-cache';

/** Time to live of a cached account, unless an event reports a change before. */
const knownForMs = 60_000;
const maxKnown = 10_000;
const maxConcurrentFetches = 8;

/** Accounts for work that no request started. Caches the gateway's replies for a minute, or until the account changes. */
export class AccountDirectory {
  readonly #known = new LRUCache<string, { account: AccountContext | null }>({ max: maxKnown, ttl: knownForMs });
  readonly #fetch: (accountId: string) => Promise<AccountContext | null>;
  /** Fetches in progress. An account that changes meanwhile is fetched again. */
  readonly #fetching = new Set<{ id: string; isStale: boolean }>();

  constructor(fetch: (accountId: string) => Promise<AccountContext | null>) {
    this.#fetch = fetch;
  }

  /** Returns a cached account; null if no account has that id, undefined if it must be fetched. */
  known(accountId: string): AccountContext | null | undefined {
    return this.#known.get(accountId)?.account;
  }

  /** Fetches accounts, eight at a time. Throws 503 if the gateway does not reply. */
  async fetch(accountIds: Iterable<string>): Promise<void> {
    const waiting = [...new Set(accountIds)];
    const fetchNext = async () => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const fetching = { id, isStale: false };
        this.#fetching.add(fetching);
        const account = await this.#fetch(id).finally(() => this.#fetching.delete(fetching));
        if (fetching.isStale) waiting.push(id);
        else this.#known.set(id, { account });
      }
    };
    await Promise.all(Array.from({ length: maxConcurrentFetches }, fetchNext));
  }

  /** Forgets an account that changed, or all accounts if changes may have been missed. */
  forget(accountId: string | 'all'): void {
    for (const fetching of this.#fetching) fetching.isStale ||= accountId === 'all' || fetching.id === accountId;
    if (accountId === 'all') this.#known.clear();
    else this.#known.delete(accountId);
  }
}
