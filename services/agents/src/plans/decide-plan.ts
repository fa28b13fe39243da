import type { Sql } from '@customer-platform/service-kit';
import { changePlans, type PlanChange } from './change-plan.ts';
import type { Decided, Decision } from './plan-state.ts';
import type { PlanRow } from './plans.sql.ts';

type DecisionCall = {
  account: { timezone: string };
  tx: Sql;
  body: { note?: string | undefined };
  now: Date;
  fail(code: 'invalid_state', message: string): never;
};

/** Takes a caller's decision about a locked plan. Refuses with invalid_state what it comes too late for, or crosses another one. */
export async function decidePlan(
  { account, tx, body, now, fail }: DecisionCall,
  row: PlanRow,
  decide: (plan: PlanRow, decision: Decision) => Decided,
): Promise<PlanChange & { became: 'approved' | 'rejected' | 'completed' | undefined }> {
  const take = (plan: PlanRow) => {
    const decided = decide(plan, { by: 'api', note: body.note, now });
    return 'refusal' in decided ? fail('invalid_state', decided.refusal) : decided.became;
  };
  const [change] = await changePlans(tx, [row], take, () => account.timezone);
  const { plan, previous, outcome } = change!;
  return { plan, previous, became: outcome };
}
