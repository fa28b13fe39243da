import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { changedAtOnce, changeMessages } from '../messages/change-messages.ts';
import { takeReceipt } from '../messages/message-state.ts';
import { type ArrivedReceipt, dueReceipts, settleReceipts, takeArrivedReceipts } from './receipts.sql.ts';

const finder = new RowFinder(dueReceipts);
const room = batchOf(changedAtOnce);
/** A receipt of an unknown message is dropped after this time in ms. */
const keptMs = 24 * 3_600_000;
const firstWaitMs = 1_000;

/** Applies arrived receipts, each under the lock of its message. */
export const applyReceipts: Job<MessagingResources> = {
  name: 'apply-receipts',
  queue: { queue: 'receipts', rows: dueReceipts },
  everyMs: 200,
  async run(call, scope) {
    const { tx, now } = call;
    const { rows: arrived, hasMore } = await finder.take({ sql: tx, now, scope, room }, async (due) => ({
      rows: await takeArrivedReceipts(tx, due),
    }));
    const known = arrived.filter((receipt): receipt is Known => receipt.message_id !== null);
    await changeMessages(
      call,
      known.map((receipt) => {
        const { account_id, message_id, number } = receipt;
        return {
          account_id,
          message_id,
          apply: (message) =>
            void takeReceipt(message, number, { ...receipt, at: within(receipt.at, message, now) }, now),
        };
      }),
    );
    const others = arrived.filter(({ message_id }) => message_id === null);
    const stale = others.filter((receipt) => ageOf(receipt, now) > keptMs);
    const waiting = others
      .filter((receipt) => ageOf(receipt, now) <= keptMs)
      .map((receipt) => ({ receipt, dueAt: new Date(now.getTime() + firstWaitMs + ageOf(receipt, now)) }));
    if (arrived.length > 0) await settleReceipts(tx, [...known, ...stale], waiting);
    if (known.length > 0) call.resources.sending.wake();
    return hasMore;
  },
};

/** Clamps a provider's time between the message's creation and now. */
function within(at: Date, { created_at }: { created_at: Date }, now: Date): Date {
  if (at < created_at) return created_at;
  return at > now ? now : at;
}

type Known = ArrivedReceipt & { message_id: string; number: number };

function ageOf({ arrived_at }: ArrivedReceipt, now: Date): number {
  return now.getTime() - arrived_at.getTime();
}
