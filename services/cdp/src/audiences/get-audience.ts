import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { selectAudience } from './audiences.sql.ts';

export const getAudience = implement(contract.getAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id),
  handle: async ({ account, found }) => toAudience(found, account.timezone),
});
