import { type AccountDirectory, coalesceByKey, type Job } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { changedAtOnce, changeMessages } from '../messages/change-messages.ts';
import { takeSuspension } from '../messages/message-state.ts';
import { selectAccountsWithTries, selectWaitingTries } from './claims.sql.ts';

/** Messages of further accounts are ended when they are claimed. */
const maxAccounts = 2_000;

/** Fails messages that wait to be sent for suspended accounts. Without it, a full or hanging lane would delay that. */
export const endSuspendedMessages: Job<MessagingResources> = {
  name: 'end-suspended-messages',
  watched: [{ name: 'attempts', due: null, where: (sql) => sql`due_at is not null` }],
  everyMs: 500,
  async run(call) {
    const waiting = await selectAccountsWithTries(call.tx, maxAccounts);
    const accounts = call.findAccounts(waiting);
    const suspended = waiting.filter((id) => accounts.get(id)?.suspended);
    if (suspended.length === 0) return false;
    const refs = await selectWaitingTries(call.tx, suspended, changedAtOnce);
    await changeMessages(
      call,
      refs.map((ref) => ({ ...ref, apply: (message) => takeSuspension(message, call.nowOf(ref.account_id)) })),
    );
    return refs.length === changedAtOnce;
  },
};

/** Checks whether accounts are suspended. Concurrent calls for one account share a request to the gateway. */
export class Suspensions {
  readonly #accounts: AccountDirectory;
  readonly #ask: (accountId: string) => Promise<void>;

  constructor(accounts: AccountDirectory) {
    this.#accounts = accounts;
    this.#ask = coalesceByKey((accountId) => accounts.fetch([accountId]));
  }

  /** Returns whether the account is suspended now. Throws `service_unavailable` if the gateway does not reply. */
  async isSuspended(accountId: string): Promise<boolean> {
    while (this.#accounts.known(accountId) === undefined) await this.#ask(accountId);
    return this.#accounts.known(accountId)?.suspended ?? false;
  }
}
