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

/** Dependencies and limits of a dispatcher. */
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
  /** Maximum number of attempts in flight per endpoint. */
  maxPerEndpoint: number;
  /** Maximum number of attempts in flight that began less than 1 s ago. All attempts together: at most four times as many. */
  maxInFlight: number;
};
