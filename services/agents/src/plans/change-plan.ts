import * as contract from '@customer-platform/contracts/agents';
import { changedValues, type Sql, type WorkCall } from '@customer-platform/service-kit';
import { toPlan } from './plan.ts';
import { previousWithin } from './plan-size.ts';
import type { PlanOutcome } from './plan-state.ts';
import { type PlanRow, savePlans } from './plans.sql.ts';

/** Events by outcome. */
export const planEvents = {
  awaiting_approval: contract.planAwaitingApproval,
  approved: contract.planApproved,
  rejected: contract.planRejected,
  expired: contract.planExpired,
  completed: contract.planCompleted,
  failed: contract.planFailed,
} as const satisfies Record<PlanOutcome, unknown>;

/** Data of a plan's event: the plan after a change, and the previous values of the changed fields. */
export interface PlanChange {
  plan: contract.Plan;
  previous: Record<string, unknown>;
}

/** Changes locked plans and writes them in one batch. Returns each plan with its outcome and its event's data, in order. */
export async function changePlans<Outcome>(
  tx: Sql,
  rows: readonly PlanRow[],
  change: (row: PlanRow) => Outcome,
  { timezoneOf, now }: { timezoneOf: (row: PlanRow) => string; now: Date },
): Promise<(PlanChange & { row: PlanRow; outcome: Outcome })[]> {
  const changed = rows.map((row) => {
    const former = toPlan(row, timezoneOf(row));
    const outcome = change(row);
    const plan = toPlan(row, timezoneOf(row));
    return { row, outcome, plan, previous: previousWithin(plan, changedValues(former, plan) ?? {}) };
  });
  if (changed.length > 0) await savePlans(tx, rows, now);
  return changed;
}

/** Changes locked plans like `changePlans` in background work. Emits each outcome in the plan's own trace. */
export async function changePlansAtWork(
  { tx, now, emit, findAccounts }: WorkCall<unknown>,
  rows: readonly PlanRow[],
  change: (row: PlanRow) => PlanOutcome | undefined,
): Promise<void> {
  const accounts = findAccounts(rows.map(({ account_id }) => account_id));
  const timezoneOf = (row: PlanRow) => accounts.get(row.account_id)?.timezone ?? 'UTC';
  for (const { row, outcome, plan, previous } of await changePlans(tx, rows, change, { timezoneOf, now })) {
    const account = accounts.get(row.account_id);
    if (outcome && account) emit(planEvents[outcome], account, { plan, previous }, row.trace ?? undefined);
  }
}
