import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { selectAudience } from './audiences.sql.ts';
import { deleteAudienceRow } from './deleted-audiences.sql.ts';

export const deleteAudience = implement(contract.deleteAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id, 'lock'),
  async handle({ account, found, tx }) {
    await deleteAudienceRow(tx, account.id, found.id);
    return undefined;
  },
});
