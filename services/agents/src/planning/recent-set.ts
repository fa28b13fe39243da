/** Remembers at most `limit` values; one more, and what was added longest ago is forgotten. */
export class RecentSet {
  readonly #limit: number;
  readonly #values = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(value: string): void {
    this.#values.delete(value);
    this.#values.add(value);
    if (this.#values.size > this.#limit) this.#values.delete(this.#values.values().next().value!);
  }

  delete(value: string): void {
    this.#values.delete(value);
  }

  has(value: string): boolean {
    return this.#values.has(value);
  }

  values(): string[] {
    return [...this.#values];
  }
}
