import { findTroubledAccounts } from '@customer-platform/contracts/messaging';
import { handleRequest } from '@customer-platform/service-kit';
import { selectFailingChannels } from '../channels/failing-channels.sql.ts';
import { accountsWithFailed } from './failed-messages.sql.ts';

const hourMs = 3_600_000;
const limit = 100;

/** Returns, for operators, the failing channels of all accounts and the accounts with many failed messages in the last hour. */
export const handleFindTroubledAccounts = handleRequest(
  findTroubledAccounts,
  async ({ sql, now }, { failed: more }) => {
    const [channels, accounts] = await Promise.all([
      selectFailingChannels(sql, limit),
      accountsWithFailed(sql, { since: new Date(now.getTime() - hourMs), more, limit }),
    ]);
    return {
      channels: channels.map((channel) => ({ ...channel, failing_since: channel.failing_since.toISOString() })),
      accounts,
    };
  },
);
