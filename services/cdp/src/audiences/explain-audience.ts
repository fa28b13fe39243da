import * as contract from '@customer-platform/contracts/cdp';
import { findContact } from '../contacts/contacts.sql.ts';
import { implement } from '../implement.ts';
import { selectAudience } from './audiences.sql.ts';
import { compileRules } from './compile-rules.ts';
import { selectFacts } from './facts.sql.ts';
import { runCompiled } from './membership.sql.ts';
import { reasonOf } from './reason.ts';

export const explainAudience = implement(contract.explainAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id),
  async handle(call) {
    const { account, query, found, tx, now, fail } = call;
    const contact = await findContact(tx, account.id, query.contact);
    if (!contact) return fail('invalid_request', 'contact must be the id of a contact of this account', 'contact');
    const { rules } = found;
    const scope = { accountId: account.id, now, contactIds: [contact.id] };
    const { from, holds, conditions, values } = compileRules(rules, scope);
    const [row] = await runCompiled<{ member: boolean; holding: boolean[] }>(
      tx,
      `select ${holds} as member, array[${conditions.join(', ')}] as holding from ${from}`,
      values,
    );
    const facts = await selectFacts(call, contact, rules);
    return {
      member: row?.member ?? false,
      conditions: rules.conditions.map((condition, index) => ({
        condition,
        holds: row?.holding[index] ?? false,
        because: reasonOf(condition, facts),
      })),
    };
  },
});
