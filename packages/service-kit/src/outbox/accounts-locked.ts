/**
 * Thrown by a consumer that could not have a lock of these accounts: of its batch only their events are set aside, and the rest is taken
 * again at once.
 */
export class AccountsLocked extends Error {
  readonly accounts: ReadonlySet<string>;

  constructor(accountIds: readonly string[], cause?: unknown) {
    super(`another transaction holds the lock of ${accountIds.join(', ')}`, { cause });
    this.accounts = new Set(accountIds);
  }
}
