import type { Plan } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import { changePlans, type PlanChange, planEvents } from './change-plan.ts';
import type { Decided, Decision } from './plan-state.ts';
import type { PlanRow } from './plans.sql.ts';

type DecisionCall = {
  account: { timezone: string };
  tx: Sql;
  body: { note?: string | undefined };
  now: Date;
  fail(code: 'invalid_state', message: string): never;
  emit(event: (typeof planEvents)[keyof typeof planEvents], data: PlanChange): unknown;
};

/** Applies a caller's decision to a locked plan and emits its outcome. Throws invalid_state if it is late or contradicts another decision. */
export async function decidePlan(
  call: DecisionCall,
  row: PlanRow,
  decide: (plan: PlanRow, decision: Decision) => Decided,
): Promise<Plan> {
  const { account, tx, body, now } = call;
  const take = (plan: PlanRow) => {
    const decided = decide(plan, { by: 'api', note: body.note, now });
    return 'refusal' in decided ? call.fail('invalid_state', decided.refusal) : decided.became;
  };
  const [change] = await changePlans(tx, [row], take, { timezoneOf: () => account.timezone, now });
  const { plan, previous, outcome } = change!;
  if (outcome) call.emit(planEvents[outcome], { plan, previous });
  return plan;
}
