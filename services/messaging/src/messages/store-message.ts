import type { KnownContact } from '@customer-platform/contact-copy';
import type { AccountContext } from '@customer-platform/contracts/core';
import type { Message } from '@customer-platform/contracts/messaging';
import { activeTrace, type Sql } from '@customer-platform/service-kit';
import { toMessage } from './message.ts';
import type { Step } from './message-state.ts';
import { insertMessages, type MessageRow } from './messages.sql.ts';

/** Initial state of a new message. */
const untouched = {
  step: 0,
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  error_code: null,
  error_message: null,
  event_ids: [],
} satisfies Partial<MessageRow>;

/** A message to a contact or to an address. */
interface GivenMessage {
  contact?: KnownContact | undefined;
  to?: string | undefined;
  reference?: string | undefined;
  purpose: Message['purpose'];
  steps: Step[];
  sendAt?: Date | undefined;
  usefulUntil?: Date | null;
  /** Whether a live account must have set up all channels; true by default. */
  needsChannels?: boolean;
}

/** Stores a message with its first attempt in one statement, and returns it. Undefined if a live account has not set up one of its channels. */
export async function storeMessage(
  { account, tx, now }: { account: AccountContext; tx: Sql; now: Date },
  { contact, to, reference, purpose, steps, sendAt, usefulUntil = null, needsChannels = true }: GivenMessage,
): Promise<Message | undefined> {
  const isSimulated = account.mode === 'test';
  const message = {
    account_id: account.id,
    reference: reference ?? null,
    contact_id: contact?.id ?? null,
    given_to: to ?? null,
    purpose,
    steps,
    is_simulated: isSimulated,
    useful_until: usefulUntil,
    needs_channels: needsChannels && !isSimulated,
    send_at: sendAt ?? null,
    key: null,
    trace: activeTrace(),
  };
  const [stored] = await insertMessages(tx, [message], now);
  if (!stored) return undefined;
  const { id, address } = stored;
  const status = sendAt ? ('scheduled' as const) : ('queued' as const);
  const [contact_name, contact_phone] = [contact?.name ?? null, contact?.phone ?? null];
  const attempts = [{ number: 1, status: 'queued' as const, reason: null, address }];
  const row = { ...untouched, ...message, id, status, contact_name, contact_phone, created_at: now, attempts };
  return toMessage(row, account);
}
