import type { SecretKeys, TargetGuard } from '@customer-platform/outbound';
import { implementer, type Worker } from '@customer-platform/service-kit';
import type { Retention } from './retention/retention.ts';
import type { RetrySchedule } from './sending/retry-schedule.ts';

/** Resources that this service's operations, consumers and jobs share. */
export type WebhookResources = {
  guard: TargetGuard;
  secretKeys: SecretKeys;
  schedule: RetrySchedule;
  retention: Retention;
  dispatcher: Worker;
  eventsCommitted(): void;
};

/** The `implement` of this service. */
export const implement = implementer<WebhookResources>();
