import type { AccountContext } from '@customer-platform/contracts/core';
import { dayOf, inWorkTransaction } from '@customer-platform/service-kit';
import { lockAgent } from '../agents/agents.sql.ts';
import { settleOpenCalls } from '../usage/ledger.sql.ts';
import { reserveCall } from '../usage/ledger.ts';
import type { AiProvider } from './ask-ai.ts';
import { failHeldPlan } from './fail-plan.ts';
import type { PlanContext } from './gather-context.ts';
import * as planning from './planning.sql.ts';
import type { PlanningTools } from './planning-tools.ts';
import type { Prompt } from './prompt.ts';

/** An AI call that is about to be made. */
interface PlannedCall {
  claim: planning.Claim;
  account: AccountContext;
  context: PlanContext;
  provider: AiProvider | { missing: string };
  prompt: Prompt;
}

/**
 * Writes the plan's agent, deal and model, and reserves the maximum tokens of the call. Returns the call's id with its provider. Returns
 * undefined if the call must not be made, because the plan has failed or this claim has ended.
 */
export async function reserveBudget(
  { claim, account, context, provider, prompt }: PlannedCall,
  tools: PlanningTools,
): Promise<{ call: string; provider: AiProvider } | undefined> {
  const { agent, contact, deal } = context;
  return await inWorkTransaction({ ...tools, resources: undefined }, async (work) => {
    const { tx, now } = work;
    // To avoid deadlocks, locks the agent first, as archiving the agent does before it stops the plans.
    const locked = await lockAgent(tx, account.id, agent.id);
    const model = 'missing' in provider ? '' : provider.model;
    if (!locked || !(await planning.assignPlan(tx, claim, { agent, contact, deal, model }))) return undefined;
    await settleOpenCalls(tx, account.id, claim.id, now);
    const refuse = async (reason: string) => void (await failHeldPlan(work, claim, reason));
    if (locked.status !== 'live') return await refuse('The agent is not live');
    if ('missing' in provider) return await refuse(provider.missing);
    const call = {
      accountId: account.id,
      day: dayOf(now, account.timezone),
      agentId: agent.id,
      pipelineId: deal?.pipeline.id ?? null,
      planId: claim.id,
      kind: 'planning' as const,
      provider: provider.name,
      model,
      tokens: prompt.tokensAtMost + prompt.maxTokens,
    };
    const reserved = await reserveCall(tx, call, now);
    return 'call' in reserved ? { call: reserved.call, provider } : await refuse(reserved.refusal);
  });
}
