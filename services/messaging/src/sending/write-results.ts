import { type Foundation, inWorkTransaction } from '@customer-platform/service-kit';
import { changeMessages } from '../messages/change-messages.ts';
import type { TryResult } from '../messages/message-state.ts';
import { takeResult } from '../messages/message-state.ts';
import { insertReceipts, wakeReceipts } from '../receipts/receipts.sql.ts';
import type { Claim } from './claims.sql.ts';

/** Result of one try. */
export interface EndedTry {
  claim: Claim;
  result: TryResult;
}

/** Writes what tries came to; receipts that came before their provider's id are looked at again. */
export async function writeResults(foundation: Foundation, ended: readonly EndedTry[]): Promise<void> {
  await inWorkTransaction({ ...foundation, resources: undefined }, async (call) => {
    const { tx, now } = call;
    await changeMessages(
      call,
      ended.map(({ claim, result }) => {
        const { account_id, message_id, number } = claim;
        return { account_id, message_id, apply: (message) => takeResult(message, number, result, now) };
      }),
    );
    const accepted = ended.flatMap(({ claim, result }) =>
      result.outcome === 'accepted' ? [{ ...claim, ...result }] : [],
    );
    await wakeReceipts(tx, accepted, now);
    const receipts = accepted.flatMap(({ account_id, channel, providerId, receipts = [] }) =>
      receipts.map((status) => ({ account_id, channel, providerId, status, at: now })),
    );
    await insertReceipts(tx, receipts, now);
  });
}
