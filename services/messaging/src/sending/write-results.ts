import { type Ended, type Foundation, inWorkTransaction } from '@customer-platform/service-kit';
import { changeMessages } from '../messages/change-messages.ts';
import { takeResult } from '../messages/message-state.ts';
import type { TryResult } from '../messages/try-result.ts';
import { insertReceipts, wakeReceipts } from '../receipts/receipts.sql.ts';
import type { DueAttempt } from './claims.sql.ts';

/**
 * Writes what tries came to; receipts that came before their provider's id are looked at again. Receipts are locked before messages, as where they are
 * applied.
 */
export async function writeResults(
  foundation: Foundation,
  ended: readonly Ended<DueAttempt, TryResult>[],
): Promise<void> {
  await inWorkTransaction({ ...foundation, resources: undefined }, async (call) => {
    const { tx, now } = call;
    const accepted = ended.flatMap(({ row, result }) => (result.outcome === 'accepted' ? [{ ...row, ...result }] : []));
    await wakeReceipts(tx, accepted, now);
    const receipts = accepted.flatMap(({ account_id, channel, providerId, receipts = [] }) =>
      receipts.map((status) => ({ account_id, channel, providerId, status, at: now })),
    );
    await insertReceipts(tx, receipts, now);
    await changeMessages(
      call,
      ended.map(({ row, result }) => {
        const { account_id, message_id } = row;
        return { account_id, message_id, apply: (message) => takeResult(message, row, result, now) };
      }),
    );
  });
}
