import * as contract from '@customer-platform/contracts/cdp';
import { badCursor, formatInstant, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectAudience } from './audiences.sql.ts';
import { listMemberRows, selectPosition } from './members.sql.ts';

export const listAudienceMembers = implement(contract.listAudienceMembers, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id),
  async handle({ account, found, query, tx, now }) {
    const { limit, starting_after: cursor } = query;
    const last = cursor === undefined ? null : await selectPosition(tx, account.id, found.id, uuidCursor(cursor), now);
    if (last === undefined) throw badCursor();
    const rows = await listMemberRows(tx, account.id, found.id, last, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => ({ ...row, entered_at: formatInstant(row.entered_at, account.timezone) }),
      (row) => row.id,
    );
  },
});
