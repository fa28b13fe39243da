import * as contract from '@customer-platform/contracts/messaging';
import { fewBytes, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toChannel } from './channel.ts';
import { channelsOf, selectChannels } from './channels.sql.ts';

export const listChannels = implement(contract.listChannels, {
  async handle({ account, query, tx, resources }) {
    return await readPage(query, {
      position: async (cursor) => (await channelsOf(tx, account.id)).find((channel) => channel === cursor),
      rows: (after, limit) => selectChannels(tx, account.id, after, limit),
      bytes: fewBytes,
      item: (row) => toChannel(row, account, resources),
      cursor: 'channel',
    });
  },
});
