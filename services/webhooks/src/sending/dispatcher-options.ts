import type { Poster, SecretKeys } from '@customer-platform/outbound';
import type {
  AccountDirectory,
  Clocks,
  ClockWork,
  Database,
  DueWatch,
  Logger,
  Queues,
} from '@customer-platform/service-kit';
import type { RetrySchedule } from './retry-schedule.ts';

/** Parts and bounds of a dispatcher. */
export type DispatcherOptions = {
  sql: Database;
  log: Logger;
  clocks: Clocks;
  clockWork: Pick<ClockWork, 'register'>;
  watch: Pick<DueWatch, 'run' | 'lookSoon'>;
  poster: Poster;
  accounts: AccountDirectory;
  queues: Queues;
  schedule: RetrySchedule;
  eventsKeptMs: number;
  secretKeys: SecretKeys;
  /** Tries under way at most to one endpoint. */
  maxPerEndpoint: number;
  /** Tries under way at most that began within the last second; four times as many in all. */
  maxInFlight: number;
};
