import { inWorkTransaction } from '@customer-platform/service-kit';
import { settleCall } from '../usage/ledger.sql.ts';
import type { AiResult } from './ask-ai.ts';
import { failHeldPlan } from './fail-plan.ts';
import * as planning from './planning.sql.ts';
import type { PlanningTools } from './planning-tools.ts';
import type { Completion } from './prompt.ts';

/** Milliseconds until the next attempt after a temporary error, by attempt. After the last attempt the plan fails. */
const retryAfterMs = [2_000, 10_000];
const longestRetryMs = 300_000;

/**
 * Settles a call. Returns its completion, or undefined if there is none, because the plan is retried later or has failed.
 */
export async function settleAiCall(
  claim: planning.Claim,
  call: string,
  result: AiResult,
  tools: PlanningTools,
): Promise<Completion | undefined> {
  await inWorkTransaction({ ...tools, resources: undefined }, async (work) => {
    const { tx, now } = work;
    await settleCall(tx, { accountId: claim.account_id, planId: claim.id, id: call }, result, now);
    if (!('error' in result) || !(await planning.holdPlan(tx, claim))) return;
    const pauseMs = retryAfterMs[claim.attempts - 1];
    if (!result.isTemporary || pauseMs === undefined) return await failHeldPlan(work, claim, result.error);
    const waitMs = Math.max(pauseMs, Math.min(result.retryAfterMs, longestRetryMs));
    await planning.postponePlan(tx, claim, new Date(now.getTime() + waitMs), result.error);
  });
  return 'error' in result ? undefined : result;
}
