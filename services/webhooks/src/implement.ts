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
  /** Retention uses real time, not sandbox clocks. */
  clocks: Pick<Clocks, 'real'>;
  dispatcher: Worker & Pick<Dispatcher, 'acceptCreated'>;
  feed: {
    /** Reports which accounts have new events. Call it after the commit. */
    recorded(accountIds: ReadonlySet<string>): void;
  };
  /** Returns a function that begins an endless stream of an account's events of `types` with numbers greater than `after`. */
  streamAfter(after: number, stream: { account: AccountContext; types: readonly string[] }): BeginStream;
  /** Wakes the dispatchers of all processes, because one process takes all events and the others share the sending. */
  deliveriesDue(): void;
  /** Wakes the outbox relay. Call it after a commit with events. */
  eventsCommitted(): void;
};

export const implement = implementer<WebhookResources>();
