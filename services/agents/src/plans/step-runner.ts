import type { FollowUpParams } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import {
  type Foundation,
  inSpan,
  inWorkTransaction,
  meter,
  type Sql,
  serviceUnavailable,
  WakeLoop,
} from '@customer-platform/service-kit';
import type { z } from 'zod';
import { changePlans } from './change-plan.ts';
import { type ClaimedStep, claimSteps, postponeStep } from './due-steps.sql.ts';
import { planEvents } from './plan-events.ts';
import { insertPlanRequest } from './plan-requests.sql.ts';
import { endStep, isRunning, type StepEnd } from './plan-state.ts';
import { lockPlan, type PlanRow, type StepRow } from './plans.sql.ts';
import { refusalOfStep, runStep } from './run-step.ts';

/** How late something is looked for that no wake told of. */
const everyMs = 500;
const slowestRetryMs = 10_000;
/** Longer than a round takes: how late a step goes on that a killed process had claimed. */
const leaseMs = 30_000;
const batchSize = 50;
const maxAtOnce = 16;
const longestWaitMs = 60_000;
/** How long a step is tried again that nobody answers. */
const triedForMs = 24 * 3_600_000;

const steps = meter.createCounter('plans.steps', { description: 'Steps of plans that ended, by action and outcome.' });

/**
 * Runs the steps of plans that are due. A step is claimed in its row; no transaction is open while others are asked to do what it says,
 * with its key; how it ended, what follows in its plan and the event commit together. Any number of processes may do so.
 */
export class StepRunner {
  readonly #foundation: Foundation;
  readonly #planner: { wake(): void };
  readonly #loop: WakeLoop;

  /** `planner` is woken for the plans that follow-ups lead to. */
  constructor(foundation: Foundation, planner: { wake(): void }) {
    this.#foundation = foundation;
    this.#planner = planner;
    this.#loop = new WakeLoop('steps', { everyMs, slowestRetryMs, log: foundation.log }, () => this.#round());
  }

  /** Says that a step became due: after the commit of the transaction that made it so. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #round(): Promise<boolean> {
    const { sql, bus, clock } = this.#foundation;
    if (!bus.isConnected()) return false;
    const now = clock();
    const claimed = await claimSteps(sql, now, new Date(now.getTime() + leaseMs), batchSize);
    const hasSome = claimed.length > 0;
    await this.#learnAccounts(claimed);
    const runOn = async () => {
      for (let step = claimed.shift(); step; step = claimed.shift()) await this.#run(step);
    };
    await Promise.all(Array.from({ length: maxAtOnce }, runOn));
    return hasSome;
  }

  /** A module that was switched off a moment ago is off: what is known of accounts is not enough, unless the gateway is away. */
  async #learnAccounts(claimed: readonly ClaimedStep[]): Promise<void> {
    const { accounts, log } = this.#foundation;
    await accounts.learn(claimed.map(({ account_id }) => account_id)).catch((error: unknown) => {
      log.warn({ err: error }, 'accounts could not be asked for; steps go by what is known of them');
    });
  }

  /** Runs one and writes what came of it. What cannot be written is done again, under its key, when its lease is over. */
  async #run(step: ClaimedStep): Promise<void> {
    const { log } = this.#foundation;
    try {
      await inSpan('run a step', { parent: step.trace ?? undefined }, async () => {
        const outcome = await this.#outcomeOf(step);
        if (outcome !== 'waits') await this.#end(step, outcome);
      });
    } catch (error) {
      log.error({ err: error, plan: step.plan_id, step: step.id }, 'a step could not be ended; it is run again');
    }
  }

  async #outcomeOf(step: ClaimedStep): Promise<StepEnd | 'waits' | undefined> {
    const { sql, bus, clock, log, accounts } = this.#foundation;
    try {
      const account = accounts.known(step.account_id);
      if (account === undefined) throw serviceUnavailable('The gateway does not respond');
      const refusal = refusalOfStep(step, account);
      return refusal === undefined ? await runStep(bus, step) : { error: refusal };
    } catch (error) {
      const now = clock().getTime();
      const reason = error instanceof ApiError ? error.message : 'an answer could not be read';
      if (now >= step.began_at.getTime() + triedForMs) return { error: `It failed for a day: ${reason}` };
      log.warn({ err: error, plan: step.plan_id, step: step.id }, 'a step had no answer; it is run again');
      await postponeStep(sql, step, new Date(now + Math.min(1_000 * 2 ** (step.tries - 1), longestWaitMs)));
      return 'waits';
    }
  }

  /** Ends a step, unless another process has done so; without an outcome it is one that is done with its end. */
  async #end(step: ClaimedStep, outcome: StepEnd | undefined): Promise<void> {
    const { account_id, plan_id } = step;
    const ended = await inWorkTransaction({ ...this.#foundation, resources: undefined }, async (call) => {
      const { tx, now, emit, findAccounts } = call;
      const account = findAccounts([account_id]).get(account_id);
      const plan = await lockPlan(tx, account_id, plan_id);
      const row = plan?.steps.find(({ id }) => id === step.id);
      if (!plan || !row || !isRunning(row)) return undefined;
      const end = outcome ?? (await requestFollowUp(tx, plan, row, now));
      const change = (each: PlanRow) => endStep(each, row, end, now);
      const [changed] = await changePlans(tx, [plan], change, () => account?.timezone ?? 'UTC');
      const { outcome: became, plan: shown, previous } = changed!;
      if (became && account) emit(planEvents[became], account, { plan: shown, previous }, plan.trace ?? undefined);
      return end;
    });
    if (!ended) return;
    steps.add(1, { action: step.action, outcome: 'error' in ended ? 'failed' : 'done' });
    if (step.action === 'follow_up') this.#planner.wake();
  }
}

/** Asks for the plan that a follow-up leads to: it is there once the step's end commits. */
async function requestFollowUp(tx: Sql, plan: PlanRow, step: StepRow, now: Date): Promise<StepEnd> {
  if (!isRunning(plan)) return { error: 'The plan ended before the step was done' };
  const { goal } = step.params as z.infer<typeof FollowUpParams>;
  const id = await insertPlanRequest(
    tx,
    {
      accountId: plan.account_id,
      agentId: plan.agent_id,
      contactId: plan.contact_id,
      contactNumber: plan.contact_number,
      trigger: 'follow_up',
      triggerText: goal,
      triggerChannel: null,
      triggerId: step.key,
      followUps: plan.follow_ups + 1,
      goal,
      trace: plan.trace,
    },
    now,
  );
  if (id === undefined) throw new Error(`step ${step.id} has led to a plan and has not ended`);
  return { result: { plan: id } };
}
