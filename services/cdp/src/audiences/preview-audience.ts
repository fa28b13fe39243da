import * as contract from '@customer-platform/contracts/cdp';
import { inTransaction, type Sql } from '@customer-platform/service-kit';
import { toSummary } from '../contacts/contact.ts';
import { implement } from '../implement.ts';
import { compileRules } from './compile-rules.ts';
import { runPlanned } from './membership.sql.ts';
import { ruleQuestions } from './permits.ts';
import { checkRulesSize } from './rules.ts';

const timeoutMs = 5_000;

export const previewAudience = implement(contract.previewAudience, {
  async handle({ account, body, now, prefetch }) {
    checkRulesSize(body.rules);
    const { id: accountId, country } = account;
    const { from, holds, groupings, values } = compileRules(body.rules, { accountId, country, now });
    const select = (tx: Sql) =>
      runPlanned<{ id: string; name: string; phone: string | null; members: number }>(
        tx,
        `select c.id, c.name, c.phone, count(*) over () as members from ${from} where ${holds} order by c.id desc limit 10`,
        values,
        { timeoutMs, groupings },
      );
    // Waits for a permit without holding a connection.
    const rows = prefetch(({ onConnection, withPermit }) =>
      withPermit(ruleQuestions, 'the preview of audiences', () => onConnection((sql) => inTransaction(sql, select))),
    );
    return { members: rows[0]?.members ?? 0, sample: rows.map(toSummary) };
  },
});
