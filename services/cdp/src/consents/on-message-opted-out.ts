import { messageOptedOut } from '@customer-platform/contracts/messaging';
import { type Consumer, onEvent } from '@customer-platform/service-kit';
import { tryHoldIdentities } from '../contacts/identities.sql.ts';
import { takeOptOut } from './take-opt-out.ts';

/** Withdraws the consent of contacts who opted out with a provider. Batch size 1, since each event locks its contacts. */
export const onMessageOptedOut: Consumer<undefined> = {
  ...onEvent(messageOptedOut, async (call, { account, data }) => {
    await tryHoldIdentities(call.tx, [account]);
    await takeOptOut(call, account, { ...data, state: 'withdrawn', source: 'keyword' });
  }),
  batchSize: 1,
};
