import type { AccountContext } from '@customer-platform/contracts/core';
import { messageDelivered, messageFailed, messageRead, messageSent } from '@customer-platform/contracts/messaging';
import { changedValues, type WorkCall } from '@customer-platform/service-kit';
import { lockMessages, type MessageRef, saveMessages, type WholeMessage } from './attempts.sql.ts';
import { toMessage, toMessageWithAttempts } from './message.ts';

/** Maximum number of messages per change. Each is read and published whole, with texts of up to 75 KB, in one turn of the event loop. */
export const changedAtOnce = 100;

/** A change of one message. `apply` mutates the message. */
export interface MessageChange extends MessageRef {
  apply(message: WholeMessage, account: AccountContext | undefined): void;
}

const events = {
  sent: messageSent,
  delivered: messageDelivered,
  read: messageRead,
  failed: messageFailed,
  refused: messageFailed,
};

/**
 * Applies changes in order under their messages' locks, and emits an event for each new status. Takes a fixed number of
 * statements. Skips messages that no longer exist.
 */
export async function changeMessages(
  { tx, emit, findAccounts }: Pick<WorkCall<unknown>, 'tx' | 'emit' | 'findAccounts'>,
  changes: readonly MessageChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const accounts = findAccounts(changes.map(({ account_id }) => account_id));
  const messages = await lockMessages(tx, changes);
  const byId = new Map(messages.map((message) => [`${message.account_id} ${message.id}`, message]));
  for (const { account_id, message_id, apply } of changes) {
    const message = byId.get(`${account_id} ${message_id}`);
    if (!message) continue;
    const account = accounts.get(account_id);
    const before = account && toMessage(message, account);
    apply(message, account);
    const event = message.status === before?.status ? undefined : events[message.status as keyof typeof events];
    if (!event || !account || !before) continue;
    const shown = toMessageWithAttempts(message, message.attempts, account);
    const data = { message: shown, previous: changedValues(before, shown) };
    message.event_ids.push(emit(event, account, data, message.trace ?? undefined));
  }
  await saveMessages(tx, messages);
}
