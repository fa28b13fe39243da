import type { SecretKeys, TargetGuard } from '@customer-platform/outbound';
import { type Clocks, implementer, type StreamSource, type Worker } from '@customer-platform/service-kit';
import type { Retention } from './retention/retention.ts';
import type { Dispatcher } from './sending/dispatcher.ts';
import type { RetrySchedule } from './sending/retry-schedule.ts';

/** The events of accounts, for streams and by whom they are recorded. */
interface Feed {
  /** Returns an account's events of `types` with greater numbers than `after`, without an end. */
  open(position: { accountId: string; after: number; types: readonly string[] }): StreamSource;
  /** Says whose events were recorded, after their commit. */
  recorded(accountIds: ReadonlySet<string>): void;
}

/** Resources that this service's operations, consumers and jobs share. */
export type WebhookResources = {
  guard: TargetGuard;
  secretKeys: SecretKeys;
  schedule: RetrySchedule;
  retention: Retention;
  /** The retention goes by the real time. */
  clocks: Pick<Clocks, 'real'>;
  dispatcher: Worker & Pick<Dispatcher, 'takeMade'>;
  feed: Feed;
  /** Wakes the dispatchers of all processes alike: one of them takes all events, and others share the sending. */
  deliveriesDue(): void;
  eventsCommitted(): void;
};

/** The `implement` of this service. */
export const implement = implementer<WebhookResources>();
