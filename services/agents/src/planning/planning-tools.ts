import type { Poster, SecretKeys } from '@customer-platform/outbound';
import type { Foundation } from '@customer-platform/service-kit';
import type { AgentsConfig } from '../config.ts';
import type { AiResult } from './ask-ai.ts';

/** The tools of every step of planning. */
export interface PlanningTools extends Foundation<AgentsConfig> {
  secretKeys: SecretKeys;
  poster: Poster;
}

/** The tools of one run of planning. */
export interface PlanningRun extends PlanningTools {
  /** Aborted once the process ends or the plan is another's: results of calls are not written then, and the plan is made again. */
  signal: AbortSignal;
  /** Called with the result of each call of the AI. */
  onCallEnded(result: AiResult): void;
}
