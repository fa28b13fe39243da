import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { selectAudience, updateAudienceRow } from './audiences.sql.ts';
import { checkRulesSize } from './rules.ts';

export const updateAudience = implement(contract.updateAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id, 'lock'),
  async handle({ account, body, found, tx, now, fail }) {
    const { name = found.name, description = found.description } = body;
    const rules = isDeepStrictEqual(body.rules, found.rules) ? undefined : body.rules;
    if (name === found.name && description === found.description && !rules) return toAudience(found, account.timezone);
    if (rules) checkRulesSize(rules);
    const row = await updateAudienceRow(tx, account.id, { id: found.id, name, description, rules }, now);
    if (!row) return fail('invalid_request', 'name must be unique; another audience has it', 'name');
    return toAudience(row, account.timezone);
  },
});
