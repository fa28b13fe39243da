import * as contract from '@customer-platform/contracts/cdp';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { listAudienceRows, selectAudience } from './audiences.sql.ts';

export const listAudiences = implement(contract.listAudiences, {
  async handle({ account, query, tx }) {
    const { limit, starting_after: after } = query;
    if (after !== undefined && !(await selectAudience(tx, account.id, uuidCursor(after)))) throw badCursor();
    const rows = await listAudienceRows(tx, account.id, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toAudience(row, account.timezone),
      (row) => row.id,
    );
  },
});
