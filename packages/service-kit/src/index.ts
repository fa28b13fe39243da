export { LRUCache } from 'lru-cache';
export * from './bus/bus.ts';
export type { ReceivedEvent } from './bus/consume-loop.ts';
export { streamKeeper } from './bus/event-stream.ts';
export { type ClockedWork, ClockWork } from './clocks/clock-work.ts';
export type { ClockedRows, Look } from './clocks/clocked-rows.sql.ts';
export { Clocks } from './clocks/clocks.ts';
export { everybody, isOfScope, rowsOfScope, type Scope } from './clocks/scope.ts';
export { type Consumer, onEvent } from './consumers/consumer.ts';
export * from './database/database.ts';
export * from './database/database-errors.ts';
export { countSerially, lockNumber, readUnderLock } from './database/locks.ts';
export { hasRow, isOfAccount } from './database/of-account.sql.ts';
export type { Fragment, QueueRows } from './database/queue-rows.ts';
export { kitMigrations, migrate } from './database/schema/migrate.ts';
export type { PartitionedTable } from './database/schema/partitions.ts';
export { AccountSlots, type RunEnd } from './due-work/account-slots.ts';
export { BatchWriter } from './due-work/batch-writer.ts';
export { claimed, type DueTable, hasFailed, type KeyedRows } from './due-work/due-rows.ts';
export { DueWatch, type WatchedRows } from './due-work/due-watch.ts';
export * from './due-work/due-work.ts';
export { batchOf, RowFinder } from './due-work/row-finder.ts';
export * from './due-work/work-queue.ts';
export type { Connections } from './fairness/connections.ts';
export * from './fairness/fair-permits.ts';
export * from './http/account-context.ts';
export { healthServer } from './http/health.ts';
export { fieldParser, queryParser } from './http/input.ts';
export { createApp, gatewayHeadBytes, type Listener, listen } from './http/listener.ts';
export * from './http/pages.ts';
export * from './http/responses.ts';
export { inServerSpan } from './http/server-span.ts';
export * from './jobs/account-directory.ts';
export { inWorkTransaction, type Job, RoundLeft, startJob, type WorkCall, type WorkContext } from './jobs/jobs.ts';
export * from './jobs/requests.ts';
export { bindOperations } from './operations/bind-operations.ts';
export { ResponseSeal } from './operations/idempotency.ts';
export * from './operations/operation.ts';
export { readOrSearch, search, searchInBackground } from './operations/read-or-search.ts';
export { AccountsLocked } from './outbox/failed-try.ts';
export * from './outbox/outbox.ts';
export { type Running, runProcess } from './process/run-process.ts';
export * from './process/service.ts';
export { publishedRetentionMs } from './process/upkeep.ts';
export { nothingPaused, type Paused, Pauses } from './queues/pauses.ts';
export { maxMoved } from './queues/queues.sql.ts';
export type { QueueSeat, Queues, ReportedQueue } from './queues/queues.ts';
export { Reporter } from './queues/reporter.ts';
export { type LimitName, limitReached } from './telemetry/limits.ts';
export { createLogger, type Logger } from './telemetry/logging.ts';
export { meter } from './telemetry/meter.ts';
export { activeRequests, requestDuration } from './telemetry/request-metrics.ts';
export {
  type Attributes,
  activeTrace,
  httpMethod,
  inSpan,
  markFailed,
  metricsEnabled,
  processInstance,
  type Span,
  SpanKind,
  setHttpStatus,
  type TraceHeaders,
  telemetryEnabled,
  traceHeaders,
  traceOfRequest,
} from './telemetry/telemetry.ts';
export { onceAtATime } from './timing/single-flight.ts';
export * from './timing/wake-loop.ts';
export * from './values/backoff.ts';
export * from './values/config.ts';
export { countWithin } from './values/count-within.ts';
export { isBeyond, jsonBytes, someStructural } from './values/json.ts';
export { noAccount } from './values/no-account.ts';
export { changedValues, isSameValue, mergedByKey, withGiven } from './values/patches.ts';
export * from './values/sealed-text.ts';
export { oldestIdKept, uuidAt } from './values/timed-ids.ts';
export * from './values/with-timeout.ts';
export * from './values/zoned-time.ts';
