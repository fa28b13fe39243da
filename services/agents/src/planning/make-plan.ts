import { planAwaitingApproval, planCompleted, planFailed } from '@customer-platform/contracts/agents';
import type { AccountContext } from '@customer-platform/contracts/core';
import type { Poster, SecretKeys } from '@customer-platform/outbound';
import { askAs, type Foundation, inWorkTransaction, type WorkCall } from '@customer-platform/service-kit';
import { lockAgent, selectAgent } from '../agents/agents.sql.ts';
import { replaced } from '../plans/change-plan.ts';
import { toPlan } from '../plans/plan.ts';
import { insertSteps, lockPlan, type PlanRow, selectPlan } from '../plans/plans.sql.ts';
import { startNextStep } from '../plans/start-plan.ts';
import type { AgentsConfig } from '../resources.ts';
import { apiKeyOf } from '../settings/api-key.ts';
import { selectSettings } from '../settings/settings.sql.ts';
import { dayOf } from '../usage/day.ts';
import { settleOpenCalls } from '../usage/ledger.sql.ts';
import { reserveCall, settleCall } from '../usage/ledger.ts';
import { type AiAnswer, type AiProvider, askAi, type Question } from './ask-ai.ts';
import { type PlannedPlan, readPlanAnswer } from './plan-answer.ts';
import * as planning from './planning.sql.ts';
import {
  maxAnswerTokens,
  maxLongAnswerTokens,
  planningMessages,
  promptTokensAtMost,
  repairMessages,
} from './prompt.ts';
import { simulatedModel } from './simulated-ai.ts';
import { learnSituation, type Situation } from './situation.ts';

/** What plans are made with. */
export interface PlanningTools extends Foundation<AgentsConfig> {
  secretKeys: SecretKeys;
  poster: Poster;
  /** Whether the process ends and cuts calls off: what they come to is not written, and another process makes the plan anew. */
  isCutOff(): boolean;
  /** Told how each call of an account's AI ended. */
  onCallEnded(accountId: string, answer: AiAnswer): void;
}

/** A plan is begun so often at most. */
export const maxTries = 3;
/** How long a plan waits after a call that can be tried again, by the try it was. */
const retryAfterMs = [2_000, 10_000];
const longestRetryMs = 300_000;

/** The plan is not made under this claim any more, or its end is written already. */
class Ended extends Error {}

/**
 * Makes a claimed plan: learns the situation, asks the AI, and stores what it answered. No transaction is open while others are asked.
 * Throws service_unavailable where a module does not answer; then nothing has changed.
 */
export async function makePlan(claim: planning.Claim, tools: PlanningTools): Promise<void> {
  const account = await accountOf(claim.account_id, tools);
  if (!account?.modules.includes('agents')) return await failPlan(claim, tools, 'AI agents is switched off');
  if (claim.planning_tries > maxTries)
    return await failPlan(claim, tools, `It was started ${maxTries} times and interrupted each time`);
  const ask = askAs(tools.bus, claim.account_id);
  const situation = await learnSituation(claim, account, { sql: tools.sql, ask, now: tools.clock() });
  if (situation === 'nobody') return await planning.dropPlan(tools.sql, claim);
  if ('failure' in situation) return await failPlan(claim, tools, situation.failure, situation.agentId);
  const provider = await providerOf(account, situation, tools);
  try {
    const plan = await askForPlan(claim, account, situation, provider, tools);
    await storePlan(claim, account, situation.agent.id, plan, tools);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  }
}

/** Asked for anew: AI agents may have been switched off a moment ago. */
async function accountOf(id: string, { accounts }: PlanningTools): Promise<AccountContext | null> {
  await accounts.learn([id]);
  return accounts.known(id) ?? null;
}

/** Ends a plan that cannot be made by the agent that was found for it, or before; one without an agent is removed. */
export async function failPlan(
  claim: planning.Claim,
  tools: PlanningTools,
  lastError: string,
  agentId: number | null = null,
): Promise<void> {
  await inWork(tools, async (call) => {
    const { tx, now, log } = call;
    const held = await planning.holdPlan(tx, claim);
    if (!held) return;
    if (held.agent_id === null && agentId === null) {
      log.warn({ plan: claim.id, reason: lastError }, 'a customer wrote, and no agent could be found for it');
      return await planning.dropPlan(tx, claim);
    }
    if (held.agent_id === null) await planning.assignAgent(tx, claim, agentId!);
    await planning.addTokens(tx, claim, await settleOpenCalls(tx, claim.account_id, claim.id, now));
    await fail(call, claim, lastError);
  });
}

/** Where the account's AI is asked; the message says what is missing. */
async function providerOf(
  account: AccountContext,
  { agent }: Situation,
  { sql, secretKeys, poster, config }: PlanningTools,
): Promise<AiProvider | { missing: string }> {
  if (account.mode === 'test') return { name: 'simulated', model: simulatedModel };
  const settings = await selectSettings(sql, account.id);
  const model = agent.model || settings.model;
  const missing = settings.base_url === '' ? 'base_url' : model === '' ? 'model' : undefined;
  if (missing) return { missing: `No AI provider is set up: set its ${missing} with PATCH /v1/agents/settings` };
  const apiKey = apiKeyOf(secretKeys, settings);
  const timeoutMs = config.AGENTS_AI_TIMEOUT_MS;
  const endpoint = { baseUrl: settings.base_url, apiKey, poolKey: account.id, poster, timeoutMs };
  return { name: settings.provider, model, endpoint };
}

/** Asks the AI, and once more where its answer cannot be used. Throws `Ended` where that was the plan's end. */
async function askForPlan(
  claim: planning.Claim,
  account: AccountContext,
  situation: Situation,
  provider: AiProvider | { missing: string },
  tools: PlanningTools,
): Promise<PlannedPlan> {
  const written = claim.trigger === 'inbound_message' ? claim.trigger_text : null;
  let question: Question = { messages: planningMessages(situation.document, written), maxTokens: maxAnswerTokens };
  for (let isRepair = false; ; isRepair = true) {
    const call = await begin(claim, account, situation, provider, question, tools);
    const answer = await askAi(provider as AiProvider, question);
    tools.onCallEnded(account.id, answer);
    if (tools.isCutOff()) throw new Ended();
    const text = await settle(claim, call, answer, tools);
    const read = readPlanAnswer(text, { document: situation.document, followUps: claim.follow_ups });
    if (!('problem' in read)) return read;
    const isTooLong = 'isCutOff' in answer && answer.isCutOff;
    const problem = isTooLong ? `it was cut off after ${question.maxTokens} tokens` : read.problem;
    if (isRepair) {
      await failPlan(claim, tools, `The AI's plan could not be used: ${problem}`, situation.agent.id);
      throw new Ended();
    }
    const messages = repairMessages(question.messages, text, problem);
    question = { messages, maxTokens: isTooLong ? maxLongAnswerTokens : maxAnswerTokens };
  }
}

/** Says who makes the plan, and reserves what a call can use at most. Answers the call; throws `Ended` where it must not be made. */
async function begin(
  claim: planning.Claim,
  account: AccountContext,
  { agent: { id: agentId }, contact, deal }: Situation,
  provider: AiProvider | { missing: string },
  { messages, maxTokens }: Question,
  tools: PlanningTools,
): Promise<string> {
  const begun = await inWork(tools, async (call) => {
    const { tx, now } = call;
    // The agent first, as whoever archives it and stops its plans.
    const agent = await lockAgent(tx, account.id, agentId);
    if (!agent || !(await planning.holdPlan(tx, claim))) return undefined;
    const model = 'missing' in provider ? '' : provider.model;
    const placed = deal && { ...deal, stage: deal.stage.name };
    await planning.assignAgent(tx, claim, agentId);
    await planning.assignPlan(tx, claim, { contactNumber: contact.number, deal: placed, model });
    await planning.addTokens(tx, claim, await settleOpenCalls(tx, account.id, claim.id, now));
    if (agent.status !== 'live') return await fail(call, claim, 'The agent is not live');
    if ('missing' in provider) return await fail(call, claim, provider.missing);
    const reserved = await reserveCall(
      tx,
      {
        accountId: account.id,
        day: dayOf(now, account.timezone),
        agentId,
        pipelineId: deal?.pipeline.id ?? null,
        planId: claim.id,
        kind: 'planning',
        provider: provider.name,
        model,
        tokens: promptTokensAtMost(messages) + maxTokens,
      },
      now,
    );
    return 'call' in reserved ? reserved.call : await fail(call, claim, reserved.refusal);
  });
  if (begun === undefined) throw new Ended();
  return begun;
}

/** Counts what a call used. Answers its text; where there is none the plan waits or has failed, and `Ended` is thrown. */
async function settle(claim: planning.Claim, call: string, answer: AiAnswer, tools: PlanningTools): Promise<string> {
  await inWork(tools, async (work) => {
    const { tx, now } = work;
    await planning.lockPlanRow(tx, claim);
    await planning.addTokens(tx, claim, await settleCall(tx, claim.account_id, call, answer, now));
    if (!('error' in answer) || !(await planning.holdPlan(tx, claim))) return;
    const pauseMs = retryAfterMs[claim.planning_tries - 1];
    if (!answer.isTemporary || pauseMs === undefined) return void (await fail(work, claim, answer.error));
    const waitMs = Math.max(pauseMs, Math.min(answer.retryAfterMs, longestRetryMs));
    await planning.postponePlan(tx, claim, new Date(now.getTime() + waitMs), true);
  });
  if ('error' in answer) throw new Ended();
  return answer.text;
}

/** Stores what was planned, unless the plan was cancelled meanwhile. */
async function storePlan(
  claim: planning.Claim,
  account: AccountContext,
  agentId: number,
  { goal, rationale, approvalReasons, steps }: PlannedPlan,
  tools: PlanningTools,
): Promise<void> {
  await inWork(tools, async ({ tx, now, emit }) => {
    if (!(await planning.holdPlan(tx, claim))) return;
    const former = await lockPlan(tx, account.id, claim.id);
    const agent = await selectAgent(tx, account.id, agentId);
    if (!former || !agent) throw new Error(`plan ${claim.id} has lost its agent`);
    const { approval_mode: approvalMode, approval_timeout_seconds } = agent;
    const isAsked = approvalMode !== 'none' && steps.length > 0;
    const lapsesAt = isAsked ? new Date(now.getTime() + approval_timeout_seconds * 1_000) : null;
    const status = steps.length === 0 ? 'completed' : isAsked ? 'awaiting_approval' : 'running';
    const reasons = isAsked && approvalReasons.length === 0 ? [defaultReasons[approvalMode]] : approvalReasons;
    const made = { goal, rationale, status, approvalMode, approvalReasons: reasons, lapsesAt } as const;
    await planning.updateMadePlan(tx, claim, made);
    const isDecidedAlone = approvalMode === 'step';
    const newSteps = steps.map(({ delayMinutes, ...step }) => {
      const stepStatus = isDecidedAlone ? ('awaiting_approval' as const) : ('pending' as const);
      const run_at = new Date(now.getTime() + delayMinutes * 60_000);
      return { ...step, requires_approval: isDecidedAlone, status: stepStatus, run_at };
    });
    if (newSteps.length > 0) await insertSteps(tx, account.id, claim.id, newSteps);
    if (status === 'running') return await startNextStep(tx, account.id, claim.id, now);
    const event = status === 'completed' ? planCompleted : planAwaitingApproval;
    const change = changeOf(former, await selectPlan(tx, account.id, claim.id), account);
    emit(event, account, change, claim.trace ?? undefined);
  });
}

const defaultReasons = {
  plan: "The agent's plans need approval",
  step: "Each step of the agent's plans needs approval",
  none: '',
};

/** Fails a plan that is held, and says so. */
async function fail(
  { tx, emit, findAccounts }: WorkCall<undefined>,
  claim: planning.Claim,
  lastError: string,
): Promise<undefined> {
  const { account_id: accountId, id } = claim;
  const account = findAccounts([accountId]).get(accountId);
  const former = await selectPlan(tx, accountId, id);
  if (!former) throw new Error(`plan ${id} has no agent, and cannot fail`);
  await planning.updateFailedPlan(tx, claim, lastError);
  if (account)
    emit(planFailed, account, changeOf(former, await selectPlan(tx, accountId, id), account), claim.trace ?? undefined);
}

/** A plan after a change, and the former values of what changed. */
function changeOf(former: PlanRow, current: PlanRow | undefined, { timezone }: AccountContext) {
  const plan = toPlan(current!, timezone);
  return { plan, previous: replaced(toPlan(former, timezone), plan) };
}

function inWork<Result>(tools: PlanningTools, work: (call: WorkCall<undefined>) => Promise<Result>): Promise<Result> {
  return inWorkTransaction({ ...tools, resources: undefined }, work);
}
