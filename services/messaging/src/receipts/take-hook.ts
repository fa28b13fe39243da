import { ApiError } from '@customer-platform/contracts/core';
import { decryptSecret } from '@customer-platform/outbound';
import { type Hook, meter } from '@customer-platform/service-kit';
import { channelByToken } from '../channels/channels.sql.ts';
import type { MessagingResources } from '../implement.ts';
import { providers } from '../providers/all.ts';
import {
  hasWaitingInbound,
  hasWaitingReceipts,
  insertInbound,
  insertReceipts,
  lockWaitingReceipts,
} from './receipts.sql.ts';

const refused = meter.createCounter('messages.hooks_refused', {
  description: 'Calls of hooks with a wrong signature.',
});

/** Form of the tokens of put-channel.ts; any other text need not be looked up, and PostgreSQL may be unable to store it. */
const tokenForm = /^[A-Za-z0-9_-]{32}$/;

/**
 * Maximum waiting receipts of an account: those of unknown messages are retried for a day, and delay the receipts of other accounts.
 * A provider retries refused requests.
 */
const maxWaitingReceipts = 5_000;
/** The same of inbound messages, which are announced one after the other: calls of hooks have no rate of their account. */
const maxWaitingInbound = 5_000;

/**
 * Handles a provider's request: stores its content and responds; the content is processed later. HEAD tells whether the hook exists, by
 * one look-up.
 */
export const takeHook: Hook<MessagingResources> = {
  path: '/hooks/messages/{token}',
  async handle(call) {
    const { resources, change } = call;
    const named = call.params.token!;
    const row = tokenForm.test(named) ? await channelByToken(call.sql, named) : undefined;
    const provider = providers.get(row?.provider ?? '');
    if (!row || !provider?.readHook) throw new ApiError('not_found', 'No hook exists at this URL');
    if (call.method === 'HEAD') return { status: 200, account: row.account_id };
    const { account_id, channel, token } = row;
    const settings = JSON.parse(decryptSecret(resources.secretKeys, row.settings, account_id, channel));
    const content = readOrCount(() => provider.readHook!(call, settings, resources.hookUrlOf(token)));
    const { receipts, messages, response } = content;
    const now = call.inTimeOf(account_id, call.now);
    const inTime = <Dated extends { at: Date }>(given: Dated) => ({
      ...given,
      at: call.inTimeOf(account_id, given.at),
    });
    if (receipts.length > 0 && (await hasWaitingReceipts(call.sql, account_id, maxWaitingReceipts)))
      throw tooManyWaiting('receipts');
    if (messages.length > 0 && (await hasWaitingInbound(call.sql, account_id, maxWaitingInbound)))
      throw tooManyWaiting('inbound messages');
    if (receipts.length + messages.length > 0) {
      await change(account_id, async ({ tx }) => {
        const inserted = await insertReceipts(
          tx,
          receipts.map((receipt) => ({ ...inTime(receipt), account_id, channel })),
          now,
        );
        await insertInbound(tx, { account_id, channel }, messages.map(inTime), now);
        // Calls at the same moment all found room: of those only the first to commit has it.
        if (inserted > 0 && (await lockWaitingReceipts(tx, account_id, maxWaitingReceipts + inserted)))
          throw tooManyWaiting('receipts');
      });
      if (messages.length > 0) resources.inbound.wake();
    }
    return { status: 200, text: response ?? '' };
  },
};

function tooManyWaiting(what: 'receipts' | 'inbound messages'): ApiError {
  return new ApiError('service_unavailable', `Too many ${what} are waiting; send this one again later`);
}

function readOrCount<Content>(read: () => Content): Content {
  try {
    return read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) refused.add(1);
    throw error;
  }
}
