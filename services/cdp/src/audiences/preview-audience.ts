import * as contract from '@customer-platform/contracts/cdp';
import { toSummary } from '../contacts/contact.ts';
import { implement } from '../implement.ts';
import { compileRules } from './compile-rules.ts';
import { runCompiled, setPlanning } from './membership.sql.ts';
import { checkRulesSize } from './rules.ts';

const timeoutMs = 5_000;

export const previewAudience = implement(contract.previewAudience, {
  async handle({ account, body, tx, now }) {
    checkRulesSize(body.rules);
    const { from, counted, holds, values } = compileRules(body.rules, { accountId: account.id, now });
    await setPlanning(tx, { nestedLoops: false, timeoutMs });
    const rows = await runCompiled<{ id: string; name: string; phone: string | null; members: number }>(
      tx,
      `select c.id, c.name, c.phone, count(*) over () as members from ${from} where ${counted} and ${holds}
      order by c.id desc limit 10`,
      values,
    );
    return { members: rows[0]?.members ?? 0, sample: rows.map(toSummary) };
  },
});
