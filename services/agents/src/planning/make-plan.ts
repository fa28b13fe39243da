import type { AccountContext } from '@customer-platform/contracts/core';
import { aiProviderOf } from './ai-provider.ts';
import { askAi } from './ask-ai.ts';
import { failPlan } from './fail-plan.ts';
import { gatherContext } from './gather-context.ts';
import { measureCall } from './measure-call.ts';
import { type Claim, dropPlan } from './planning.sql.ts';
import type { PlanningRun } from './planning-tools.ts';
import { planningPrompt, repairPrompt } from './prompt.ts';
import { readCompletion } from './read-completion.ts';
import { reserveBudget } from './reserve-budget.ts';
import { settleAiCall } from './settle-call.ts';
import { writePlan } from './write-plan.ts';

/** Maximum attempts per plan. */
export const maxTries = 3;

const switchedOff = 'AI agents is switched off';

/**
 * Makes a claimed plan. The AI gets one chance to correct an unusable completion. No transaction is open during outbound calls.
 * Throws service_unavailable or rate_limited, and leaves the plan unchanged, if a module does not reply or the search is busy.
 */
export async function makePlan(claim: Claim, tools: PlanningRun): Promise<void> {
  const account = await accountWithAgents(claim, tools);
  if (!account) return await failPlan(claim, tools, switchedOff);
  if (claim.attempts > maxTries)
    return await failPlan(claim, tools, `It was started ${maxTries} times and interrupted each time`);

  const context = await gatherContext(claim, account, tools);
  if (context === 'nobody') return await dropPlan(tools.sql, claim);
  if ('failure' in context) return await failPlan(claim, tools, context.failure, context.agentId);

  const provider = await aiProviderOf(account, context.agent, tools);
  let prompt = planningPrompt(context.document, claim.trigger === 'inbound_message' ? claim.trigger_text : null);
  for (let isRepair = false; ; isRepair = true) {
    // The first call may have taken minutes.
    if (isRepair && !(await stillHasAgents(claim, tools))) return await failPlan(claim, tools, switchedOff);
    const reserved = await reserveBudget({ claim, account, context, provider, prompt }, tools);
    if (!reserved) return;

    const result = await measureCall(reserved.provider, askAi(reserved.provider, prompt));
    tools.onCallEnded(result);
    if (tools.signal.aborted) return;
    const completion = await settleAiCall(claim, reserved.call, result, tools);
    if (!completion) return;

    const read = readCompletion(completion.text, { document: context.document, followUps: claim.follow_ups });
    if (!('problem' in read)) return await writePlan(claim, account, read, tools);
    const tooLong = `it was cut off after ${prompt.maxTokens} tokens`;
    const problem = completion.isCutOff ? tooLong : read.problem;
    if (isRepair) return await failPlan(claim, tools, `The AI's plan could not be used: ${problem}`, context.agent.id);
    prompt = repairPrompt(prompt, completion, problem);
  }
}

/** Returns the current account; undefined if AI agents is switched off, or the account is suspended or deleted. */
async function accountWithAgents(
  { account_id }: Claim,
  { accounts }: PlanningRun,
): Promise<AccountContext | undefined> {
  await accounts.fetch([account_id]);
  const account = accounts.known(account_id);
  return account?.modules.includes('agents') ? account : undefined;
}

/** Returns whether a plan may continue after its first call. It continues if the gateway does not reply, since that call is already billed. */
async function stillHasAgents(claim: Claim, tools: PlanningRun): Promise<boolean> {
  try {
    return (await accountWithAgents(claim, tools)) !== undefined;
  } catch (error) {
    tools.log.warn({ err: error, plan: claim.id }, 'cannot refresh the account; planning continues with cached data');
    return true;
  }
}
