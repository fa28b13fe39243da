import type { Poster, SecretKeys } from '@customer-platform/outbound';
import type { Foundation } from '@customer-platform/service-kit';
import type { AgentsConfig } from '../config.ts';
import type { AiResult } from './ask-ai.ts';

/** Dependencies of every step of planning. */
export interface PlanningTools extends Foundation<AgentsConfig> {
  secretKeys: SecretKeys;
  poster: Poster;
}

/** Dependencies of one run of planning. */
export interface PlanningRun extends PlanningTools {
  /** Aborted when the process stops or loses the plan. Call results are then not written, and the plan is made again. */
  signal: AbortSignal;
  /** Called with the result of each AI call. */
  onCallEnded(result: AiResult): void;
}
