import { ApiError } from '@customer-platform/contracts/core';
import type { DueWork, RunEnd, Worker } from '@customer-platform/service-kit';
import type { AiResult } from './ask-ai.ts';
import { failPlan } from './fail-plan.ts';
import { makePlan, maxTries } from './make-plan.ts';
import { type Claim, claimPlans, plansToMake } from './planning.sql.ts';
import type { PlanningTools } from './planning-tools.ts';

/** Maximum time that a plan waits for an unavailable module or a busy search. */
const longestWaitMs = 15 * 60_000;

/** End of planning. `end` describes the last AI call; `failure` is the reason if the plan must fail. */
interface PlanningEnd {
  end: RunEnd;
  failure?: string;
}

/**
 * Returns the queue that makes plans. It makes at most AGENTS_MAX_PLANNING at once per process and 4 per account, and one at a time for
 * an account whose AI timed out. Wakes `steps` for plans that may run.
 */
export function planning(tools: PlanningTools, steps: Worker): DueWork<Claim, PlanningEnd> {
  const { clock, log } = tools;
  return {
    queue: 'planning',
    table: plansToMake,
    concurrency: { most: tools.config.AGENTS_MAX_PLANNING, perLane: 4 },
    retries: { leaseMs: 30_000, backoff: { firstMs: 2_000, longestMs: 60_000 } },
    everyMs: 500,
    stopMs: 10_000,
    needsBus: true,
    claim: claimPlans,
    async run(claim, signal) {
      let end: RunEnd = 'other';
      const onCallEnded = (result: AiResult) => {
        end = endOfCall(result);
      };
      await makePlan(claim, { ...tools, signal, onCallEnded });
      signal.throwIfAborted();
      return { end };
    },
    // Waiting for an unavailable module or a busy search does not count as an attempt. `giveUp` limits the total wait.
    counts: (error) => !isUnavailable(error),
    giveUp({ id, created_at, attempts }, error) {
      const ageMs = clock().getTime() - created_at.getTime();
      if (isUnavailable(error) ? ageMs < longestWaitMs : attempts < maxTries) return undefined;
      log.error({ err: error, plan: id }, 'a plan could not be made');
      const reason = isUnavailable(error) ? error.message : 'Something went wrong on our side';
      return { end: 'other', failure: `The plan could not be made: ${reason}` };
    },
    endOf: ({ end }) => end,
    async settle(ended) {
      for (const { row, result } of ended) if (result.failure) await failPlan(row, tools, result.failure);
      steps.wake();
    },
  };
}

function endOfCall(result: AiResult): RunEnd {
  if ('error' in result && result.hasTimedOut) return 'timeout';
  return result.outcome === 'answered' ? 'responded' : 'other';
}

function isUnavailable(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 'service_unavailable' || error.code === 'rate_limited');
}
