import { measureMessages } from '@customer-platform/contracts/messaging';
import { dayMs, handleRequest } from '@customer-platform/service-kit';
import { channelStates } from '../channels/channels.sql.ts';
import { groupFailed } from './failed-messages.sql.ts';

/** Returns, for operators, an account's failed messages of the last day and the states of its channels. */
export const handleMeasureMessages = handleRequest(measureMessages, async ({ sql, now }, { account }) => {
  const [failed, channels] = await Promise.all([
    groupFailed(sql, account, new Date(now.getTime() - dayMs)),
    channelStates(sql, account),
  ]);
  return {
    failed: failed.map((group) => ({ ...group, last_at: group.last_at.toISOString() })),
    channels: channels.map((one) => ({ ...one, failing_since: one.failing_since?.toISOString() ?? null })),
  };
});
