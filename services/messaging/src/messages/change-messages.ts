import {
  type Message,
  messageDelivered,
  messageFailed,
  messageRead,
  messageSent,
} from '@customer-platform/contracts/messaging';
import type { WorkCall } from '@customer-platform/service-kit';
import { type LockedMessage, lockMessages, type MessageRef, saveMessages } from './attempts.sql.ts';
import { toMessageWithAttempts } from './message.ts';

/** One change of one message; it changes what it is given. */
export interface MessageChange extends MessageRef {
  apply(message: LockedMessage): void;
}

const events = {
  sent: messageSent,
  delivered: messageDelivered,
  read: messageRead,
  failed: messageFailed,
  refused: messageFailed,
};

/**
 * Makes changes under the locks of their messages, in their order, with an event for each new status: of any number in a handful of
 * statements. A message that is gone is left out.
 */
export async function changeMessages(
  { tx, emit, findAccounts }: Pick<WorkCall<unknown>, 'tx' | 'emit' | 'findAccounts'>,
  changes: readonly MessageChange[],
): Promise<LockedMessage[]> {
  if (changes.length === 0) return [];
  const accounts = findAccounts(changes.map(({ account_id }) => account_id));
  const messages = await lockMessages(tx, changes);
  const byId = new Map(messages.map((message) => [`${message.account_id} ${message.id}`, message]));
  for (const { account_id, message_id, apply } of changes) {
    const message = byId.get(`${account_id} ${message_id}`);
    if (!message) continue;
    const before = message.status;
    apply(message);
    message.address = message.attempts.at(-1)!.address;
    const event = message.status === before ? undefined : events[message.status as keyof typeof events];
    const account = accounts.get(account_id);
    if (!event || !account) continue;
    const data = {
      message: toMessageWithAttempts(message, message.attempts, account),
      previous: { status: before } satisfies Partial<Message>,
    };
    message.event_ids.push(emit(event, account, data, message.trace ?? undefined));
  }
  await saveMessages(tx, messages);
  return messages;
}
