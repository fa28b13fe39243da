import { ApiError } from '@customer-platform/contracts/core';
import type { Poster, SecretKeys } from '@customer-platform/outbound';
import { type Foundation, inSpan, WakeLoop, waitUntil } from '@customer-platform/service-kit';
import type { AgentsConfig } from '../config.ts';
import { failPlan } from './fail-plan.ts';
import { makePlan, maxTries } from './make-plan.ts';
import { type Claim, claimPlans, postponePlan, renewLeases } from './planning.sql.ts';
import { PlanningSlots } from './planning-slots.ts';
import type { PlanningTools } from './planning-tools.ts';

/** How late something is looked for that no wake told of. */
const everyMs = 500;
const slowestRetryMs = 10_000;
/** How late a plan is made anew whose maker was killed. */
const leaseMs = 30_000;
/** What is left of a lease that is renewed: more than stopping takes, and some rounds that fail. */
const renewedAtMs = 20_000;
/** How long a plan waits for a module that is away. */
const longestWaitMs = 15 * 60_000;
const longestPauseMs = 60_000;
const stopMs = 10_000;

/**
 * Makes plans that are due: each is claimed in its row, so that any number of processes may do so and none is made twice. At most
 * AGENTS_MAX_PLANNING at once in a process, shared among accounts as `PlanningSlots` and `claimPlans` say. A lease is short and is
 * renewed while the plan is made, however long the AI takes: only what a process that died had claimed is claimed anew.
 */
export class Planner {
  readonly #tools: PlanningTools;
  readonly #wakeSteps: () => void;
  readonly #loop: WakeLoop;
  readonly #running = new Map<Claim, Promise<void>>();
  readonly #slots: PlanningSlots;
  #isStopping = false;
  #isCutOff = false;

  /** `wakeSteps` is called when a plan was made that may run. */
  constructor(
    foundation: Foundation<AgentsConfig> & { secretKeys: SecretKeys; poster: Poster },
    wakeSteps: () => void,
  ) {
    this.#slots = new PlanningSlots(foundation.config.AGENTS_MAX_PLANNING);
    const onCallEnded: PlanningTools['onCallEnded'] = (accountId, result) => this.#slots.learn(accountId, result);
    this.#tools = { ...foundation, isCutOff: () => this.#isCutOff, onCallEnded };
    this.#wakeSteps = wakeSteps;
    this.#loop = new WakeLoop('planner', { everyMs, slowestRetryMs, log: foundation.log }, () => this.#claim());
  }

  /** Says that a plan is to be made: after the commit of the transaction that asked for it. */
  wake(): void {
    this.#loop.wake();
  }

  /** Claims nothing more and waits for the plans that are being made; one that takes too long is left to whoever claims it next. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop.stop();
    await waitUntil(() => this.#running.size === 0, stopMs);
    this.#isCutOff = true;
  }

  async #claim(): Promise<boolean> {
    const { sql, bus, clock } = this.#tools;
    const now = clock();
    const leasedUntil = new Date(now.getTime() + leaseMs);
    // First: what is made here must not look as if its maker had died, whatever held this round up.
    const ending = [...this.#running.keys()].filter((claim) => {
      return claim.leased_until.getTime() <= now.getTime() + renewedAtMs;
    });
    if (ending.length > 0) await renewLeases(sql, ending, leasedUntil);
    const slots = this.#slots.free();
    if (this.#isStopping || slots.free <= 0 || !bus.isConnected()) return false;
    const claims = await claimPlans(sql, now, leasedUntil, slots);
    for (const claim of claims) this.#begin(claim);
    return claims.length > 0;
  }

  #begin(claim: Claim): void {
    this.#slots.begin(claim.account_id);
    const running = this.#make(claim).finally(() => {
      this.#running.delete(claim);
      this.#slots.end(claim.account_id);
      this.#loop.wake();
      this.#wakeSteps();
    });
    this.#running.set(claim, running);
  }

  /** Never rejects: what cannot even be postponed is claimed again when its lease is over. */
  async #make(claim: Claim): Promise<void> {
    const { log } = this.#tools;
    try {
      await inSpan('make a plan', { parent: claim.trace ?? undefined }, async () => {
        try {
          await makePlan(claim, this.#tools);
        } catch (error) {
          if (!this.#isCutOff) await this.#waitOrFail(claim, error);
        }
      });
    } catch (error) {
      log.error({ err: error, plan: claim.id }, 'a plan could not be made; it is made again when its lease is over');
    }
  }

  /** A plan waits for a module that is away, and is begun again after a fault of ours; neither for ever. */
  async #waitOrFail(claim: Claim, error: unknown): Promise<void> {
    const { sql, clock, log } = this.#tools;
    const now = clock().getTime();
    const ageMs = now - claim.created_at.getTime();
    const isAway = error instanceof ApiError && error.code === 'service_unavailable';
    if (isAway ? ageMs >= longestWaitMs : claim.planning_tries >= maxTries) {
      log.error({ err: error, plan: claim.id }, 'a plan could not be made');
      const reason = isAway ? error.message : 'Something went wrong on our side';
      return await failPlan(claim, this.#tools, `The plan could not be made: ${reason}`);
    }
    log.warn({ err: error, plan: claim.id }, 'a plan could not be made; it is made again');
    const pauseMs = Math.min(1_000 + ageMs / 2, longestPauseMs);
    await postponePlan(sql, claim, new Date(now + pauseMs), !isAway);
  }
}
