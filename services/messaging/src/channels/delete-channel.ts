import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { deleteChannelRow, lockChannel } from './channels.sql.ts';

export const deleteChannel = implement(contract.deleteChannel, {
  find: ({ account, params, tx }) => lockChannel(tx, account.id, params.channel),
  async handle({ account, params, tx, now }) {
    await deleteChannelRow(tx, account.id, params.channel, now);
    return undefined;
  },
  committed: ({ sending }) => sending.wake(),
});
