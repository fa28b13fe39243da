import type { Plan } from '@customer-platform/contracts/agents';
import { changedValues, type Sql } from '@customer-platform/service-kit';
import { toPlan } from './plan.ts';
import { type PlanRow, savePlans } from './plans.sql.ts';

/** Data of a plan's event: the plan after a change, and the former values of the fields that changed. */
export interface PlanChange {
  plan: Plan;
  previous: Record<string, unknown>;
}

/** Changes locked plans and writes them in one batch. Returns each with its outcome and its event's data, in order. */
export async function changePlans<Outcome>(
  tx: Sql,
  rows: readonly PlanRow[],
  change: (row: PlanRow) => Outcome,
  timezoneOf: (row: PlanRow) => string,
): Promise<(PlanChange & { row: PlanRow; outcome: Outcome })[]> {
  const changed = rows.map((row) => {
    const former = toPlan(row, timezoneOf(row));
    const outcome = change(row);
    const plan = toPlan(row, timezoneOf(row));
    return { row, outcome, plan, previous: replaced(former, plan) };
  });
  if (changed.length > 0) await savePlans(tx, rows);
  return changed;
}

/** Returns the former values of the fields that changed. */
export function replaced(former: Plan, current: Plan): Record<string, unknown> {
  return changedValues(former, current) ?? {};
}
