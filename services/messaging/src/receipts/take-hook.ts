import { ApiError } from '@customer-platform/contracts/core';
import { decryptSecret } from '@customer-platform/outbound';
import { type Hook, meter } from '@customer-platform/service-kit';
import { channelByToken } from '../channels/channels.sql.ts';
import type { MessagingResources } from '../implement.ts';
import { providers } from '../providers/all.ts';
import { hasWaitingReceipts, insertInbound, insertReceipts } from './receipts.sql.ts';

const refused = meter.createCounter('messages.hooks_refused', {
  description: 'Calls of hooks with a wrong signature.',
});

/** As put-channel.ts makes them; another text need not be looked up, and may be one that PostgreSQL cannot hold. */
const tokenForm = /^[A-Za-z0-9_-]{32}$/;

/**
 * Receipts of one account that wait at most: those of messages that nobody knows are looked at again for a day, and cost the receipts
 * of others their turn. A provider repeats what is refused.
 */
const maxWaitingReceipts = 5_000;

/**
 * Takes what a provider sends: it is stored and answered for; what follows from it is done after. HEAD says whether there is a hook,
 * by one look-up.
 */
export const takeHook: Hook<MessagingResources> = {
  path: '/hooks/messages/{token}',
  async handle(call) {
    const { resources, now, change } = call;
    const named = call.params.token!;
    const row = tokenForm.test(named) ? await channelByToken(call.sql, named) : undefined;
    const provider = providers.get(row?.provider ?? '');
    if (!row || !provider?.readHook) throw new ApiError('not_found', 'No hook exists at this URL');
    if (call.method === 'HEAD') return { status: 200 };
    const { account_id, channel, token } = row;
    const settings = JSON.parse(decryptSecret(resources.secretKeys, row.settings, account_id, channel));
    const content = readOrCount(() => provider.readHook!(call, settings, resources.hookUrlOf(token)));
    const { receipts, messages, answer } = content;
    if (receipts.length > 0 && (await hasWaitingReceipts(call.sql, account_id, maxWaitingReceipts)))
      throw new ApiError('service_unavailable', 'Too many receipts are waiting; send this one again later');
    if (receipts.length + messages.length > 0) {
      await change(async ({ tx }) => {
        await insertReceipts(
          tx,
          receipts.map((receipt) => ({ ...receipt, account_id, channel })),
          now,
        );
        await insertInbound(tx, account_id, channel, messages, now);
      });
      if (messages.length > 0) resources.inbound.wake();
    }
    return { status: 200, text: answer ?? '' };
  },
};

function readOrCount<Content>(read: () => Content): Content {
  try {
    return read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) refused.add(1);
    throw error;
  }
}
