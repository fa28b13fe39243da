/** Something that waits its turn in the name of an account. */
export type Waiting = { accountId: string };

/**
 * Gives turns in rotation: first among accounts, then among what one account has waiting. An account with many endpoints
 * gets no more turns than an account with one.
 */
export class FairQueue<Item extends Waiting> {
  // Maps and Sets keep the order of insertion: who had a turn is put in again at the end.
  readonly #accounts = new Map<string, Set<Item>>();

  add(item: Item): void {
    const items = this.#accounts.get(item.accountId);
    if (items) items.add(item);
    else this.#accounts.set(item.accountId, new Set([item]));
  }

  remove(item: Item): void {
    const items = this.#accounts.get(item.accountId);
    if (items?.delete(item) && items.size === 0) this.#accounts.delete(item.accountId);
  }

  /** Takes out who is next; it is added again where it has more to do. */
  next(): Item | undefined {
    for (const [accountId, items] of this.#accounts) {
      this.#accounts.delete(accountId);
      for (const item of items) {
        items.delete(item);
        if (items.size > 0) this.#accounts.set(accountId, items);
        return item;
      }
    }
    return undefined;
  }
}
