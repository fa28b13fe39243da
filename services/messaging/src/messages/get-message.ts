import type { AccountContext } from '@customer-platform/contracts/core';
import { ApiError } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/messaging';
import { findDeliveries } from '@customer-platform/contracts/webhooks';
import { type Ask, formatInstant } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectMessage } from './attempts.sql.ts';
import { toMessageWithAttempts } from './message.ts';
import type { MessageRow } from './messages.sql.ts';

export const getMessage = implement(contract.getMessage, {
  find: ({ account, params, tx }) => selectMessage(tx, account.id, params.message_id),
  async handle({ account, found, prefetch }) {
    const webhooks = found.event_ids.length > 0 ? prefetch(({ ask }) => deliveriesOf(found, account, ask)) : [];
    const message = toMessageWithAttempts(found, found.attempts, account);
    return { ...message, webhooks: webhooks ?? [], webhooks_unavailable: webhooks === undefined };
  },
});

/** Returns the webhook deliveries of a message's events; undefined while the webhooks service is unavailable. The message is shown even then. */
async function deliveriesOf({ event_ids }: MessageRow, account: AccountContext, ask: Ask) {
  try {
    const { deliveries } = await ask(findDeliveries, { events: event_ids });
    return deliveries.map((one) => ({ ...one, at: formatInstant(new Date(one.at), account.timezone) }));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
    return undefined;
  }
}
