/** Number of requests that a process is working on. */
export class RequestCount {
  underWay = 0;
  readonly #working = new Map<string, number>();

  /** Notes that a request of the owner has a connection to the database. */
  begin(owner: string): void {
    this.#working.set(owner, (this.#working.get(owner) ?? 0) + 1);
  }

  /** Notes that it has given it back. */
  end(owner: string): void {
    const left = (this.#working.get(owner) ?? 0) - 1;
    if (left > 0) this.#working.set(owner, left);
    else this.#working.delete(owner);
  }

  /** Returns how many requests have a connection to the database, of one owner at most `mostPerOwner`. */
  working(mostPerOwner: number): number {
    let count = 0;
    for (const working of this.#working.values()) count += Math.min(working, mostPerOwner);
    return count;
  }
}
