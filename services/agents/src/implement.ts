import type { SecretKeys, TargetGuard } from '@customer-platform/outbound';
import { implementer } from '@customer-platform/service-kit';
import type { Planner } from './planning/planner.ts';
import type { StepRunner } from './plans/step-runner.ts';
import type { SourceReader } from './reading/source-reader.ts';

/** What this service's operations, consumers and jobs share. */
export interface AgentsResources {
  secretKeys: SecretKeys;
  /** Keeps what customers name to addresses that are public or allowed. */
  guard: TargetGuard;
  planner: Planner;
  stepRunner: StepRunner;
  sourceReader: SourceReader;
}

/** The `implement` of this service. */
export const implement = implementer<AgentsResources>();
