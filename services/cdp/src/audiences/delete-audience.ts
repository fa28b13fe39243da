import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { deleteAudienceRow, selectAudience } from './audiences.sql.ts';

export const deleteAudience = implementer()(contract.deleteAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id, 'lock'),
  async handle({ account, found, tx }) {
    await deleteAudienceRow(tx, account.id, found.id);
    return undefined;
  },
});
