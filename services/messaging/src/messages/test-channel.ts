import * as contract from '@customer-platform/contracts/messaging';
import { channelsOf } from '../channels/channels.sql.ts';
import { implement } from '../implement.ts';
import { addressFor } from './address.ts';
import { storeMessage } from './store-message.ts';
import { testText } from './test-text.ts';

export const testChannel = implement(contract.testChannel, {
  // A sandbox has every channel.
  find: async ({ account, params, tx }) =>
    account.mode === 'test' || (await channelsOf(tx, account.id)).includes(params.channel) || undefined,
  async handle(call) {
    const { account, params, body, fail } = call;
    const { channel } = params;
    const step = { channel, ...testText(account), fallback_after_seconds: 300 };
    const to = addressFor(body.to, [channel], account);
    const stored = await storeMessage(call, { to, purpose: 'service', steps: [step] });
    return stored ?? fail('not_found', 'The channel was deleted meanwhile');
  },
  committed: ({ sending }) => sending.wake(),
  isOneStatement: true,
});
