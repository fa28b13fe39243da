import { adminOperations, type TraceSummary } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { StoredTrace, Timed, TraceFilter } from '../../collector/trace-store.ts';
import { implement } from '../admin-operation.ts';

/** Lists the collected traces, newest first. */
export const listTraces = implement(adminOperations.listTraces, {
  async handle({ query, resources: { traces }, fail }) {
    const thread = traces.thread ?? fail('not_found', traces.elsewhere());
    const filter: TraceFilter = {
      account: query.account,
      operation: query.operation,
      whole: { isError: isErrorOf(query.status), atLeastMs: query.min_duration_ms },
      request: { isError: isErrorOf(query.request_status), atLeastMs: query.request_min_duration_ms },
      statusCodes: query.status_code === undefined ? undefined : codesOf(query.status_code),
      unauthenticated: query.unauthenticated,
    };
    return await readPage(query, {
      position: (id) => thread.call('place', { id, filter }),
      rows: (after, limit) => thread.call('list', { filter, after, limit }),
      bytes: fewBytes,
      item: toSummary,
      cursor: 'traceId',
    });
  },
});

/** Returns all spans of a trace, by its id or a request id. */
export const getTrace = implement(adminOperations.getTrace, {
  async handle({ params: { trace_id: id }, resources: { traces }, fail }) {
    const thread = traces.thread ?? fail('not_found', traces.elsewhere(id));
    return (await thread.call('find', id)) ?? fail('not_found', 'No recent trace has this trace id or request id');
  },
});

function isErrorOf(status: 'ok' | 'error' | undefined): boolean | undefined {
  return status === undefined ? undefined : status === 'error';
}

/** Returns the range of a status such as 429, or of a class such as 4xx. */
function codesOf(status: string): [number, number] {
  return [Number(status.replace('xx', '00')), Number(status.replace('xx', '99'))];
}

function statusOf({ isError }: Timed): 'ok' | 'error' {
  return isError ? 'error' : 'ok';
}

function durationOf({ startMs, endMs }: Timed): number {
  return Math.round((endMs - startMs) * 1_000) / 1_000;
}

function toSummary(trace: StoredTrace): z.input<typeof TraceSummary> {
  const { traceId, request, requestId, account, operation, startMs, spans } = trace;
  return {
    trace_id: traceId,
    request_id: requestId ?? null,
    account: account ?? null,
    operation: operation ?? null,
    request: request?.path === undefined ? null : `${request.method} ${request.path}`,
    request_status: request ? statusOf(request) : null,
    request_duration_ms: request ? durationOf(request) : null,
    status_code: request?.statusCode ?? null,
    error_code: request?.errorCode ?? null,
    status: statusOf(trace),
    started_at: formatInstant(new Date(startMs), 'UTC'),
    duration_ms: durationOf(trace),
    spans,
  };
}
