import type { SecretKeys, TargetGuard } from '@customer-platform/outbound';
import { implementer } from '@customer-platform/service-kit';
import type { Dispatcher } from './delivery/dispatcher.ts';
import type { RetrySchedule } from './delivery/retry-schedule.ts';

/** What this service's operations, consumers and jobs share. */
export type WebhookResources = {
  guard: TargetGuard;
  secretKeys: SecretKeys;
  schedule: RetrySchedule;
  dispatcher: Dispatcher;
  eventsCommitted(): void;
};

/** The `implement` of this service. */
export const implement = implementer<WebhookResources>();
