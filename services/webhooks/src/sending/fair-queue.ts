/**
 * Rotates turns among accounts, then among the items of one account. An account with many endpoints gets no more turns
 * than an account with one. An account that may not take its turn is set aside, so that other turns do not check it
 * again.
 */
export class FairQueue<Item extends { accountId: string }> {
  // Maps and Sets keep insertion order: after its turn, an account is inserted again at the end.
  readonly #accounts = new Map<string, Set<Item>>();
  readonly #setAside = new Map<string, Set<Item>>();

  add(item: Item): void {
    const items = this.#accounts.get(item.accountId) ?? this.#setAside.get(item.accountId);
    if (items) items.add(item);
    else this.#accounts.set(item.accountId, new Set([item]));
  }

  remove(item: Item): void {
    for (const accounts of [this.#accounts, this.#setAside]) {
      const items = accounts.get(item.accountId);
      if (items?.delete(item) && items.size === 0) accounts.delete(item.accountId);
    }
  }

  /** Removes and returns the next item; add it again if it has more work. Sets aside the accounts that `mayTake` refuses. */
  next(mayTake: (accountId: string) => boolean): Item | undefined {
    for (const [accountId, items] of this.#accounts) {
      this.#accounts.delete(accountId);
      if (!mayTake(accountId)) {
        this.#setAside.set(accountId, items);
        continue;
      }
      for (const item of items) {
        items.delete(item);
        if (items.size > 0) this.#accounts.set(accountId, items);
        return item;
      }
    }
    return undefined;
  }

  /** Puts one account that was set aside, or all of them, at the end of the line. */
  putBack(accountId?: string): void {
    if (this.#setAside.size === 0) return;
    const ids = accountId === undefined ? [...this.#setAside.keys()] : [accountId];
    for (const id of ids) {
      const items = this.#setAside.get(id);
      if (items) this.#accounts.set(id, items);
      this.#setAside.delete(id);
    }
  }
}
