import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { toAudience } from './audience.ts';
import { askForRefresh, selectAudience } from './audiences.sql.ts';

export const refreshAudience = implementer()(contract.refreshAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id, 'lock'),
  handle: async ({ account, found, tx, now }) =>
    toAudience(await askForRefresh(tx, account.id, found.id, now), account.timezone),
});
