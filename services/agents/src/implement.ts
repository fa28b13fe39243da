import type { SecretKeys, TargetGuard } from '@customer-platform/outbound';
import { implementer, type Worker } from '@customer-platform/service-kit';

/** Resources that this service's operations, consumers and jobs share. */
export interface AgentsResources {
  secretKeys: SecretKeys;
  /** Restricts the URLs of customers to public or allowed addresses. */
  guard: TargetGuard;
  planner: Worker;
  stepRunner: Worker;
  sourceReader: Worker;
}

/** The `implement` of this service. */
export const implement = implementer<AgentsResources>();
