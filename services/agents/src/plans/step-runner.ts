import { ApiError } from '@customer-platform/contracts/core';
import {
  type DueWork,
  type Ended,
  type Foundation,
  inWorkTransaction,
  meter,
  type Sql,
  serviceUnavailable,
} from '@customer-platform/service-kit';
import { changePlansAtWork } from './change-plan.ts';
import { type ClaimedStep, claimSteps, planSteps } from './due-steps.sql.ts';
import { insertPlanRequest } from './plan-requests.sql.ts';
import { endStep, isRunning, type StepEnd } from './plan-state.ts';
import { inParts, lockPlans, type PlanRef, type PlanRow, type StepParams, type StepRow } from './plans.sql.ts';
import { refusalOfStep, runStep } from './run-step.ts';

/** How long a step without a reply is retried. */
const attemptedForMs = 24 * 3_600_000;

const steps = meter.createCounter('plans.steps', { description: 'Steps of plans that ended, by action and outcome.' });

/** End of a step; undefined for a follow-up, which requests its plan when the end is written. */
type Result = { end: StepEnd | undefined };

/**
 * Returns the queue that runs due steps by requests to other services. A step's end, its plan's change and the event commit in one
 * transaction. Wakes `planner` for the plans of follow-ups.
 */
export function stepRunning(foundation: Foundation, planner: { wake(): void }): DueWork<ClaimedStep, Result> {
  const { bus, clock, accounts, log } = foundation;
  return {
    queue: 'steps',
    table: planSteps,
    concurrency: { most: 64, perLane: 16 },
    retries: { leaseMs: 30_000, backoff: { firstMs: 1_000, longestMs: 60_000 } },
    everyMs: 500,
    stopMs: 10_000,
    needsBus: true,
    async claim(sql, claim) {
      const claimed = await claimSteps(sql, claim);
      // A module may just have been switched off. If the gateway is unavailable, cached accounts are used.
      await accounts.fetch(claimed.map(({ account_id }) => account_id)).catch((error: unknown) => {
        log.warn({ err: error }, 'cannot refresh accounts; using cached ones');
      });
      return claimed;
    },
    async run(step) {
      const account = accounts.known(step.account_id);
      if (account === undefined) throw serviceUnavailable('The gateway does not respond');
      const refusal = refusalOfStep(step, account);
      return { end: refusal === undefined ? await runStep(bus, step) : { error: refusal } };
    },
    giveUp({ began_at }, error) {
      if (clock().getTime() < began_at.getTime() + attemptedForMs) return undefined;
      const reason = error instanceof ApiError ? error.message : 'the reply could not be read';
      return { end: { error: `It failed for a day: ${reason}` } };
    },
    settle: (ended) => writeEnds(foundation, planner, ended),
  };
}

/** Writes the ends of steps, except steps that have already ended. So after a partial failure, the next attempt writes only the rest. */
async function writeEnds(
  foundation: Foundation,
  planner: { wake(): void },
  ended: readonly Ended<ClaimedStep, Result>[],
): Promise<void> {
  const results = new Map(ended.map(({ row, result }) => [keyOf(row), result]));
  const named = ended.map(({ row: { account_id, plan_id } }) => ({ account_id, id: plan_id }));
  for (const part of await inParts(foundation.sql, named)) await writeEndsOf(foundation, planner, part, results);
}

async function writeEndsOf(
  foundation: Foundation,
  planner: { wake(): void },
  named: readonly PlanRef[],
  results: ReadonlyMap<string, Result>,
): Promise<void> {
  const written = await inWorkTransaction({ ...foundation, resources: undefined }, async (call) => {
    const { tx, now } = call;
    const ends = new Map<PlanRow, { step: StepRow; end: StepEnd }>();
    for (const plan of await lockPlans(tx, named)) {
      // A plan has at most one running step.
      const step = plan.steps.find(isRunning);
      const result = step && results.get(keyOf({ ...step, account_id: plan.account_id }));
      if (result) ends.set(plan, { step, end: result.end ?? (await requestFollowUp(tx, plan, step, now)) });
    }
    await changePlansAtWork(call, [...ends.keys()], (plan) => {
      const { step, end } = ends.get(plan)!;
      return endStep(plan, step, end, now);
    });
    return [...ends.values()];
  });
  for (const { step, end } of written) {
    steps.add(1, { action: step.action, outcome: 'error' in end ? 'failed' : 'done' });
  }
  if (written.some(({ step }) => step.action === 'follow_up')) planner.wake();
}

const keyOf = ({ account_id, id }: Pick<ClaimedStep, 'account_id' | 'id'>) => `${account_id} ${id}`;

/** Requests the plan of a follow-up, in the transaction that ends the step. */
async function requestFollowUp(tx: Sql, plan: PlanRow, step: StepRow, now: Date): Promise<StepEnd> {
  if (!isRunning(plan)) return { error: 'The plan ended before the step was done' };
  const { goal } = step.params as Extract<StepParams, { goal: string }>;
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
  if (id === undefined) throw new Error(`step ${step.id} already requested a plan but has not ended`);
  return { result: { plan: id } };
}
