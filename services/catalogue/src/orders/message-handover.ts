import { takeMessage } from '@customer-platform/contracts/messaging';
import type { DueWork, Foundation } from '@customer-platform/service-kit';
import {
  claimPendingMessages,
  deletePendingMessages,
  type PendingMessage,
  pendingMessages,
} from './pending-messages.sql.ts';

/** Returns the queue that hands messages to customers over to messaging, at least once and always under the same key. */
export function messageHandover({ sql, bus }: Pick<Foundation, 'sql' | 'bus'>): DueWork<PendingMessage, true> {
  return {
    queue: 'handovers',
    table: pendingMessages,
    concurrency: { most: 64, perLane: 16 },
    retries: { leaseMs: 10_000, backoff: { firstMs: 1_000, longestMs: 300_000 } },
    everyMs: 1_000,
    gatherMs: 5,
    stopMs: 5_000,
    needsBus: true,
    claim: claimPendingMessages,
    async run({ account_id, id, contact_id, channel, number, body }) {
      const message = { key: id, contact: contact_id, channel, body, reference: `order-${number}`, is_automatic: true };
      await bus.ask(takeMessage, account_id, message);
      return true;
    },
    settle: (taken) =>
      deletePendingMessages(
        sql,
        taken.map(({ row }) => row),
      ),
  };
}
