import type { AccountContext } from '@customer-platform/contracts/core';
import type { SecretKeys, TargetGuard } from '@customer-platform/outbound';
import { type BeginStream, type Clocks, implementer, type Worker } from '@customer-platform/service-kit';
import type { Retention } from './retention/retention.ts';
import type { Dispatcher } from './sending/dispatcher.ts';
import type { RetrySchedule } from './sending/retry-schedule.ts';

/** Resources that this service's operations, consumers and jobs share. */
export type WebhookResources = {
  guard: TargetGuard;
  secretKeys: SecretKeys;
  schedule: RetrySchedule;
  retention: Retention;
  /** The retention goes by the real time. */
  clocks: Pick<Clocks, 'real'>;
  dispatcher: Worker & Pick<Dispatcher, 'takeMade'>;
  feed: {
    /** Says whose events were recorded, after their commit. */
    recorded(accountIds: ReadonlySet<string>): void;
  };
  /** Returns what begins a stream: an account's events of `types` with greater numbers than `after`, without an end. */
  streamAfter(after: number, stream: { account: AccountContext; types: readonly string[] }): BeginStream;
  /** Wakes the dispatchers of all processes alike: one of them takes all events, and others share the sending. */
  deliveriesDue(): void;
  eventsCommitted(): void;
};

/** The `implement` of this service. */
export const implement = implementer<WebhookResources>();
