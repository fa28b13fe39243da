import { adminOperations, type TraceSummary } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { implement } from '../admin-operation.ts';
import type { StoredTrace, TraceFacts } from '../collector/trace-store.ts';

/** Lists the traces that were collected, newest first. */
export const listTraces = implement(adminOperations.listTraces, {
  async handle({ query, resources: { traces }, fail }) {
    const store = traces.store ?? fail('not_found', traces.elsewhere());
    const { account, operation, status, min_duration_ms: atLeastMs = 0 } = query;
    const matches = (trace: TraceFacts) => {
      if (account !== undefined && trace.account !== account) return false;
      if (operation !== undefined && trace.operation !== operation) return false;
      return (status === undefined || statusOf(trace) === status) && trace.endMs - trace.startMs >= atLeastMs;
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

function statusOf({ isError }: TraceFacts): 'ok' | 'error' {
  return isError ? 'error' : 'ok';
}

function toSummary(trace: StoredTrace): z.input<typeof TraceSummary> {
  const { traceId, requestId, account, operation, startMs, endMs, spans } = trace;
  return {
    trace_id: traceId,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(account === undefined ? {} : { account }),
    ...(operation === undefined ? {} : { operation }),
    status: statusOf(trace),
    started_at: formatInstant(new Date(startMs), 'UTC'),
    duration_ms: Math.round((endMs - startMs) * 1_000) / 1_000,
    spans,
  };
}
