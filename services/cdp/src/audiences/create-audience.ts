import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { insertAudience } from './audiences.sql.ts';
import { checkRulesSize } from './rules.ts';

export const createAudience = implement(contract.createAudience, {
  async handle({ account, body, tx, now, fail }) {
    checkRulesSize(body.rules);
    const row = await insertAudience(tx, account.id, body, now);
    if (!row) return fail('invalid_request', 'name must be unique; another audience has it', 'name');
    return toAudience(row, account.timezone);
  },
});
