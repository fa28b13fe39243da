import type { Sql } from '@customer-platform/service-kit';
import { lockSettings } from '../settings/settings.sql.ts';
import { insertCall, type NewCall, selectHeldTokens } from './ledger.sql.ts';

/**
 * Reserves the maximum tokens of an AI call in the day's budgets (`dayOf`) before the call is made. Returns the call's id. If the call
 * would exceed a budget, writes nothing and returns a sentence naming that budget. Concurrent reservations never exceed a budget. After 15
 * minutes, a reservation that was not settled counts as used.
 */
export async function reserveCall(tx: Sql, call: NewCall, now: Date): Promise<{ call: string } | { refusal: string }> {
  const { accountId, pipelineId, tokens } = call;
  const settings = await lockSettings(tx, accountId);
  const held = await selectHeldTokens(tx, call);
  const pipelineBudget = pipelineId === null ? null : (settings.pipeline_budgets[pipelineId] ?? null);
  const budgets = [
    { name: "The account's daily budget", limit: settings.daily_budget, held: held.account },
    { name: `The daily budget of pipeline ${pipelineId}`, limit: pipelineBudget, held: held.pipeline },
    { name: "The agent's daily limit", limit: held.daily_limit, held: held.agent },
  ];
  const exceeded = budgets.find(({ limit, held }) => limit !== null && held + tokens > limit);
  if (exceeded) {
    const { name, limit } = exceeded;
    return {
      refusal: `${name} of ${limit} AI tokens is used up (${exceeded.held} used or reserved, ${tokens} needed)`,
    };
  }
  return { call: await insertCall(tx, call, now) };
}
