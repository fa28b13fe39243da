import { channelFailing, channelRecovered, messageOptedOut } from '@customer-platform/contracts/messaging';
import { type Ended, type Foundation, inWorkTransaction, type WorkCall } from '@customer-platform/service-kit';
import { toChannelState } from '../channels/channel.ts';
import type { ChannelRow } from '../channels/channels.sql.ts';
import { markFailing, markReady } from '../channels/failing-channels.sql.ts';
import { changeMessages } from '../messages/change-messages.ts';
import { takeResult } from '../messages/message-state.ts';
import type { TryResult } from '../messages/try-result.ts';
import { insertReceipts, wakeReceipts } from '../receipts/receipts.sql.ts';
import type { DueAttempt } from './claims.sql.ts';

/** Result of a provider call. The hold time of a refused one is added when it is written. */
export type CallResult =
  | Exclude<TryResult, { outcome: 'refused' }>
  | { outcome: 'refused'; message: string; address?: string };

/** A call's result, or `held` if no call began because the channel is failing. */
export type SentResult = CallResult | { outcome: 'held' };

/**
 * Writes the results of provider calls, and makes receipts due that arrived before their provider's id. Locks receipts before messages, as when they
 * are applied, and channels last. A channel with refused credentials becomes failing, and each message is held for at most `holdMs`.
 */
export async function writeResults(
  foundation: Foundation,
  ended: readonly Ended<DueAttempt, SentResult>[],
  holdMs: number,
): Promise<void> {
  const tries = ended.flatMap(({ row, result }) => (result.outcome === 'held' ? [] : [{ row, result }]));
  if (tries.length === 0) return;
  await inWorkTransaction({ ...foundation, resources: undefined }, async (call) => {
    const { tx, now } = call;
    const accepted = tries.flatMap(({ row, result }) => (result.outcome === 'accepted' ? [{ ...row, ...result }] : []));
    await wakeReceipts(tx, accepted, now);
    const receipts = accepted.flatMap(({ account_id, channel, providerId, receipts = [] }) =>
      receipts.map((status) => ({ account_id, channel, providerId, status, at: now })),
    );
    await insertReceipts(tx, receipts, now);
    await changeMessages(
      call,
      tries.map(({ row, result }) => {
        const { account_id, message_id } = row;
        const taken = result.outcome === 'refused' ? { ...result, holdMs } : result;
        return { account_id, message_id, apply: (message) => takeResult(message, row, taken, now) };
      }),
    );
    emitOptOuts(call, tries);
    const refused = tries.flatMap(({ row, result }) => (result.outcome === 'refused' ? [{ ...row, ...result }] : []));
    publishStates(call, channelFailing, await markFailing(tx, refused, now));
    const recovering = accepted.filter(({ channel_failing_since }) => channel_failing_since !== null);
    publishStates(call, channelRecovered, await markReady(tx, recovering, now));
  });
}

/** Publishes that contacts opted out, so that customer data withdraws consent. The time is the call's start, so a repeated write is identical. */
function emitOptOuts({ emit, findAccounts }: WorkCall<unknown>, tries: readonly Ended<DueAttempt, CallResult>[]): void {
  const optedOut = tries.filter(({ result }) => result.outcome === 'rejected' && result.reason === 'opted_out');
  const accounts = findAccounts(optedOut.map(({ row }) => row.account_id));
  for (const { row } of optedOut) {
    const { account_id, contact_id: contact, channel, running_since } = row;
    const account = accounts.get(account_id);
    if (account && contact) emit(messageOptedOut, account, { contact, channel, at: running_since.toISOString() });
  }
}

/** Publishes channel states. */
function publishStates(
  { emit, findAccounts, now }: WorkCall<unknown>,
  event: typeof channelFailing | typeof channelRecovered,
  channels: readonly ChannelRow[],
): void {
  const accounts = findAccounts(channels.map(({ account_id }) => account_id));
  for (const row of channels) {
    const account = accounts.get(row.account_id);
    if (account) emit(event, account, toChannelState(row, account, row.failing_since ?? now));
  }
}
