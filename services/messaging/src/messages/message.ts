import type { AccountContext } from '@customer-platform/contracts/core';
import type { Message, MessageAttempt, MessageWithAttempts } from '@customer-platform/contracts/messaging';
import { formatInstant } from '@customer-platform/service-kit';
import type { AttemptRow } from './attempts.sql.ts';
import { furthestAttempt } from './furthest-attempt.ts';
import type { MessageRow } from './messages.sql.ts';

type Zone = Pick<AccountContext, 'timezone'>;

/** Converts a row to a message of the API. */
export function toMessage(row: MessageRow, account: Zone): Message {
  const at = (instant: Date | null) => (instant ? formatInstant(instant, account.timezone) : null);
  const { id, reference, status, purpose, contact_id, contact_name, contact_phone } = row;
  const { number, address } = furthestAttempt(row.attempts);
  const { channel, body, template = null } = row.steps[number - 1]!;
  return {
    id,
    reference,
    status,
    contact: contact_id === null ? null : { id: contact_id, name: contact_name ?? '', phone: contact_phone ?? '' },
    to: address,
    channel,
    purpose,
    body,
    template,
    send_at: at(row.send_at),
    created_at: at(row.created_at)!,
    sent_at: at(row.sent_at),
    delivered_at: at(row.delivered_at),
    read_at: at(row.read_at),
    failed_at: at(row.failed_at),
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
  };
}

/** Converts a row to a message of the API with its begun attempts, in order. */
export function toMessageWithAttempts(
  row: MessageRow,
  attempts: readonly AttemptRow[],
  account: Zone,
): MessageWithAttempts {
  const begun = attempts.filter(({ started_at }) => started_at !== null);
  return { ...toMessage(row, account), attempts: begun.map((attempt) => toAttempt(attempt, account)) };
}

function toAttempt(row: AttemptRow, account: Zone): MessageAttempt {
  const { number, channel, provider, reason, provider_id } = row;
  const at = (instant: Date) => formatInstant(instant, account.timezone);
  return {
    number,
    channel,
    provider,
    status: row.status === 'queued' ? 'sending' : row.status,
    reason,
    provider_id,
    started_at: at(row.started_at!),
    finished_at: row.finished_at && at(row.finished_at),
    receipts: row.receipts.map((receipt) => ({ ...receipt, at: at(receipt.at) })),
  };
}
