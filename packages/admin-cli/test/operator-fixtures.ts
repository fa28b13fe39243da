import type {
  AccountHealth,
  DeadEvent,
  LiveProcess,
  OperatedEndpoint,
  Queue,
  TraceSummary as Trace,
} from '@customer-platform/contracts/accounts';
import type { z } from 'zod';

type TraceSummary = z.infer<typeof Trace>;

/** An id that ends in a number. */
export function idOf(number: number): string {
  return `0198a1b2-0000-7000-8000-${String(number).padStart(12, '0')}`;
}

/** A healthy queue of webhooks, with the given fields. */
export function queue(given: Partial<Queue>): Queue {
  const depth = { ready: 0, running: 0, waiting: 0, failed_waiting: null, dead: 0, oldest_due_at: null };
  const error = { last_error: null, last_error_at: null };
  const usual = { service: 'webhooks' as const, queue: 'deliveries', ...depth, ...error, lag_seconds: 0 };
  return { ...usual, paused: false, pauses: [], history: null, ...given };
}

/** A dead event of the calendar, with the given fields. */
export function deadEvent(given: Partial<DeadEvent>): DeadEvent {
  const times = { first_at: '2026-11-20T11:00:00.000Z', dead_at: '2026-11-20T11:57:00.000Z' };
  const usual = { id: idOf(7), service: 'calendar' as const, queue: 'contact.updated', subject: 'events.cdp.contact' };
  const owner = { account: null, kind: null };
  return { ...usual, ...owner, reason: 'version must be a number', tries: 10, size_bytes: 5, ...times, ...given };
}

/** A failing endpoint. */
export function failingEndpoint(given: Partial<OperatedEndpoint>): OperatedEndpoint {
  const error = {
    last_error: '503 Service Unavailable',
    last_error_at: '2026-11-20T11:59:00.000Z',
    last_error_trace_id: null,
  };
  const state = {
    active: true,
    paused: false,
    disabled_reason: null,
    failing_since: '2026-11-20T09:00:00.000Z',
    pending: 17,
    ...error,
  };
  return { id: idOf(21), account: idOf(1), url: 'https://hooks.example.com/in', ...state, ...given };
}

/** A live process. */
export function liveProcess(given: Partial<LiveProcess>): LiveProcess {
  const state = { pid: null, waiting_for: null, refused: [] };
  const load = { in_flight: 2, event_loop_lag_ms: 3.25, memory_bytes: 125_829_120 };
  const pool = { size: 10, used: 10, waiting: 4 };
  const usual = {
    service: 'webhooks' as const,
    instance: idOf(31),
    version: '1.0.0',
    host: 'node-a',
    ...state,
    ...load,
    pool,
  };
  return { ...usual, started_at: '2026-11-18T12:00:00.000Z', migrations: '0007_pauses.sql', ...given };
}

/** A trace that failed after its request. */
export function trace(given: Partial<TraceSummary>): TraceSummary {
  const times = { started_at: '2026-11-20T11:59:30.000Z', duration_ms: 5371 };
  return {
    trace_id: 'f'.repeat(32),
    request_id: null,
    account: null,
    request_status: null,
    request_duration_ms: null,
    status_code: null,
    error_code: null,
    request: 'POST /v1/calendar/appointments',
    operation: 'bookAppointment',
    status: 'error' as const,
    ...times,
    spans: 12,
    ...given,
  };
}

/** The health of an account without problems, with the given fields. */
export function health(given: Partial<AccountHealth>): AccountHealth {
  return {
    requests: { last_hour: { total: 0, by_code: {} } },
    rate_limit: { per_minute: 600, burst: 100 },
    keys: [],
    messages: { failed_24h: [], channels: [] },
    endpoints: [],
    plans: { failed_24h: 0, last_error: null },
    modules_off: [],
    suspended: false,
    gone: [],
    ...given,
  };
}

/** A page without a next one. */
export function page<Items extends unknown[]>(...data: Items) {
  return { data: data as Items[number][], has_more: false, next: null };
}
