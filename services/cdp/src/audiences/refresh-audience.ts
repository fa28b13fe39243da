import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { askForRefresh, selectAudience } from './audiences.sql.ts';
import { checkRulesSize } from './rules.ts';

export const refreshAudience = implement(contract.refreshAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id, 'lock'),
  async handle({ account, found, tx, now }) {
    // Stored rules may exceed the limit, and so would the events about the refresh.
    checkRulesSize(found.rules);
    return toAudience(await askForRefresh(tx, account.id, found.id, now), account.timezone);
  },
});
