import * as contract from '@customer-platform/contracts/cdp';
import { fewBytes, formatInstant, readPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectAudience } from './audiences.sql.ts';
import { listMemberRows, selectPosition } from './members.sql.ts';

export const listAudienceMembers = implement(contract.listAudienceMembers, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id),
  handle: ({ account, found, query, tx, now }) =>
    readPage(query, {
      position: (cursor) =>
        selectPosition(tx, account.id, { audienceId: found.id, contactId: uuidCursor(cursor) }, now),
      rows: (after, limit) => listMemberRows(tx, account.id, found.id, { after, limit }),
      bytes: fewBytes,
      item: (row) => ({ ...row, entered_at: formatInstant(row.entered_at, account.timezone) }),
      cursor: 'id',
    }),
});
