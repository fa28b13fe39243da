import type { Sql } from '@customer-platform/service-kit';
import { startNext } from './plan-state.ts';
import { lockPlan, savePlans } from './plans.sql.ts';

/**
 * Has the first step of a running plan that has not ended begin when it is due, where it is approved or needs no approval. It
 * completes nothing. Wake the step runner after the commit.
 */
export async function startNextStep(tx: Sql, accountId: string, planId: number, now: Date): Promise<void> {
  const plan = await lockPlan(tx, accountId, planId);
  if (!plan) return;
  startNext(plan, now);
  await savePlans(tx, [plan]);
}
