export { LRUCache } from 'lru-cache';
export * from './account-context.ts';
export { AccountsLocked } from './accounts-locked.ts';
export { bindOperations } from './bind-operations.ts';
export * from './bus.ts';
export * from './changed-values.ts';
export * from './config.ts';
export type { ReceivedEvent } from './consume-loop.ts';
export * from './consumers.ts';
export { countWithin } from './count-within.ts';
export * from './database.ts';
export * from './deadline-watch.ts';
export { AccountSlots, type RunEnd } from './due-work/account-slots.ts';
export { BatchWriter } from './due-work/batch-writer.ts';
export {
  claimed,
  type DueTable,
  type Fragment,
  hasFailed,
  type KeyedRows,
  type QueueRows,
} from './due-work/due-rows.ts';
export * from './due-work/due-work.ts';
export { RoundRobin } from './due-work/round-robin.ts';
export * from './due-work/work-queue.ts';
export * from './fair-permits.ts';
export { type Health, healthServer } from './health.ts';
export type { Hook, HookCall, HookResponse } from './hooks.ts';
export { ResponseSeal } from './idempotency.ts';
export { entryParser, fieldParser, queryParser } from './input.ts';
export { inWorkTransaction, type Job, startJob, type WorkCall } from './jobs.ts';
export { createLogger, type Logger } from './logging.ts';
export * from './operation.ts';
export { nothingPaused, type Paused, Pauses } from './operators/pauses.ts';
export { maxMoved } from './operators/queues.sql.ts';
export type { QueueSeat, Queues, ReportedQueue } from './operators/queues.ts';
export * from './outbox.ts';
export * from './pages.ts';
export * from './read-under-lock.ts';
export * from './requests.ts';
export * from './responses.ts';
export * from './sealed-text.ts';
export * from './service.ts';
export * from './telemetry.ts';
export { publishedRetentionMs } from './upkeep.ts';
export * from './wake-loop.ts';
export * from './with-timeout.ts';
export * from './zoned-time.ts';
