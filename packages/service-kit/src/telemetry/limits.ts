import { meter } from './meter.ts';

/** Limits that requests, or records of requests, can reach. */
export type LimitName =
  | 'admin_tokens'
  | 'body_memory'
  | 'body_pace'
  | 'body_size'
  | 'connections'
  | 'head_size'
  | 'head_time'
  | 'hooks'
  | 'idempotency_waits'
  | 'invalid_keys'
  | 'key_rate'
  | 'large_bodies'
  | 'pipelined_requests'
  | 'request_log'
  | 'requests'
  | 'service_sockets'
  | 'stream_backlog'
  | 'streams'
  | 'trace_exports'
  | 'trace_spans'
  | 'uploads';

const reached = meter.createCounter('platform.limits.reached', {
  description: 'Refusals and drops because a limit was reached, by limit.',
});

/** Counts that a limit was reached. */
export function limitReached(limit: LimitName): void {
  reached.add(1, { 'platform.limit': limit });
}
