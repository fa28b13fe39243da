import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { countAudiences, insertAudience } from './audiences.sql.ts';
import { checkRulesSize } from './rules.ts';

/** Bounded because each changed contact is evaluated for every audience of its account. */
const maxAudiences = 1_000;

export const createAudience = implement(contract.createAudience, {
  async handle({ account, body, tx, now, fail }) {
    checkRulesSize(body.rules);
    if ((await countAudiences(tx, account.id)) >= maxAudiences)
      return fail(
        'invalid_state',
        `An account has at most ${maxAudiences.toLocaleString('en')} audiences; delete one first`,
      );
    const row = await insertAudience(tx, account.id, body, now);
    if (!row) return fail('invalid_request', 'name must be unique; another audience has it', 'name');
    return toAudience(row, account.timezone);
  },
});
