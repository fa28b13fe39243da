import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { toAudience } from './audience.ts';
import { selectAudience } from './audiences.sql.ts';

export const getAudience = implementer()(contract.getAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id),
  handle: async ({ account, found }) => toAudience(found, account.timezone),
});
