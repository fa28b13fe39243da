import { adminOperations, type TraceSummary } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { RequestSpan, StoredTrace, TraceFacts } from '../../collector/trace-store.ts';
import { implement } from '../admin-operation.ts';

/** Lists the traces that were collected, newest first. */
export const listTraces = implement(adminOperations.listTraces, {
  async handle({ query, resources: { traces }, fail }) {
    const store = traces.store ?? fail('not_found', traces.elsewhere());
    const { account, operation } = query;
    const ofWhole = { status: query.status, atLeastMs: query.min_duration_ms };
    const ofRequest = { status: query.request_status, atLeastMs: query.request_min_duration_ms };
    const matches = (trace: TraceFacts) => {
      if (account !== undefined && trace.account !== account) return false;
      if (operation !== undefined && trace.operation !== operation) return false;
      return isWanted(trace, ofWhole) && isWanted(trace.request, ofRequest);
    };
    return await readPage(query, {
      position: async (cursor) => {
        const trace = store.get(cursor);
        return trace && matches(trace) ? trace : undefined;
      },
      rows: async (after, limit) => store.list(matches, { after, limit }),
      bytes: fewBytes,
      item: toSummary,
      cursor: 'traceId',
    });
  },
});

/** Returns all spans of a trace, by its id or by the id of a request. */
export const getTrace = implement(adminOperations.getTrace, {
  async handle({ params: { trace_id: id }, resources: { traces }, fail }) {
    const store = traces.store ?? fail('not_found', traces.elsewhere(id));
    return (
      store.find(id) ??
      fail('not_found', 'No trace of the last minutes has this id, nor has any of them a request with it')
    );
  },
});

interface Wanted {
  status: 'ok' | 'error' | undefined;
  atLeastMs: number | undefined;
}

/** Returns whether a trace, or its request, is as a filter wants it: where there is none, only for a filter that wants nothing. */
function isWanted(timed: RequestSpan | undefined, { status, atLeastMs }: Wanted): boolean {
  if (status === undefined && atLeastMs === undefined) return true;
  if (!timed) return false;
  return (status === undefined || statusOf(timed) === status) && timed.endMs - timed.startMs >= (atLeastMs ?? 0);
}

function statusOf({ isError }: RequestSpan): 'ok' | 'error' {
  return isError ? 'error' : 'ok';
}

function durationOf({ startMs, endMs }: RequestSpan): number {
  return Math.round((endMs - startMs) * 1_000) / 1_000;
}

function toSummary(trace: StoredTrace): z.input<typeof TraceSummary> {
  const { traceId, request, requestId, account, operation, startMs, spans } = trace;
  return {
    trace_id: traceId,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(account === undefined ? {} : { account }),
    ...(operation === undefined ? {} : { operation }),
    ...(request && { request_status: statusOf(request), request_duration_ms: durationOf(request) }),
    status: statusOf(trace),
    started_at: formatInstant(new Date(startMs), 'UTC'),
    duration_ms: durationOf(trace),
    spans,
  };
}
