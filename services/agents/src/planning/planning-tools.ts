import type { Poster, SecretKeys } from '@customer-platform/outbound';
import type { Foundation } from '@customer-platform/service-kit';
import type { AgentsConfig } from '../config.ts';
import type { AiResult } from './ask-ai.ts';

/** The tools of every step of planning. */
export interface PlanningTools extends Foundation<AgentsConfig> {
  secretKeys: SecretKeys;
  poster: Poster;
  /** True once the process ends and cuts calls off: their results are not written, and another process makes the plan again. */
  isCutOff(): boolean;
  /** Called with the result of each call of an account's AI. */
  onCallEnded(accountId: string, result: AiResult): void;
}
