import * as contract from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';
import { findContact } from '../contacts/contacts.sql.ts';
import { implement } from '../implement.ts';
import { selectAudience } from './audiences.sql.ts';
import { compileRules } from './compile-rules.ts';
import { selectFacts } from './facts.sql.ts';
import { runCompiled } from './membership.sql.ts';
import { ruleQuestions } from './permits.ts';
import { reasonOf } from './reason.ts';

export const explainAudience = implement(contract.explainAudience, {
  find: ({ account, params, tx }) => selectAudience(tx, account.id, params.audience_id),
  async handle({ account, query, found: { rules }, now, fail, prefetch }) {
    const explain = async (tx: Sql) => {
      const contact = await findContact(tx, account.id, query.contact);
      if (!contact) return fail('invalid_request', 'contact must be the id of a contact of this account', 'contact');
      const { from, holds, conditions, values } = compileRules(rules, {
        accountId: account.id,
        country: account.country,
        now,
        contactIds: [contact.id],
      });
      const [row] = await runCompiled<{ member: boolean; holding: boolean[] }>(
        tx,
        `select ${holds} as member, array[${conditions.join(', ')}] as holding from ${from}`,
        values,
      );
      return { row, facts: await selectFacts({ tx, account, now }, contact, rules) };
    };
    // Waits for a permit without holding a connection.
    const { row, facts } = prefetch(({ onConnection, withPermit }) =>
      withPermit(ruleQuestions, 'the explanation of audiences', () => onConnection(explain)),
    );
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
