import * as contract from '@customer-platform/contracts/messaging';
import { badCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toChannel } from './channel.ts';
import { channelsOf, selectChannels } from './channels.sql.ts';

export const listChannels = implement(contract.listChannels, {
  async handle({ account, query, tx, resources }) {
    const { limit, starting_after: after } = query;
    if (after !== undefined && !(await channelsOf(tx, account.id)).some((channel) => channel === after))
      throw badCursor();
    const rows = await selectChannels(tx, account.id, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toChannel(row, account, resources),
      (row) => row.channel,
    );
  },
});
