import { adminOperations, type TraceSummary } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { implement } from '../admin-operation.ts';
import type { StoredTrace } from '../collector/trace-store.ts';

/** Lists the traces that were collected, newest first. */
export const listTraces = implement(adminOperations.listTraces, {
  async handle({ query, resources: { traces }, fail }) {
    const store = traces.store ?? fail('not_found', traces.elsewhere());
    const { account, operation, status, min_duration_ms: atLeastMs = 0 } = query;
    const found = store.list().filter((trace) => {
      if (account !== undefined && trace.account !== account) return false;
      if (operation !== undefined && trace.operation !== operation) return false;
      return (status === undefined || statusOf(trace) === status) && trace.endMs - trace.startMs >= atLeastMs;
    });
    return await readPage(query, {
      position: async (cursor) => found.find(({ traceId }) => traceId === cursor),
      rows: async (after, limit) => {
        const begin = after ? found.indexOf(after) + 1 : 0;
        return found.slice(begin, begin + limit);
      },
      bytes: fewBytes,
      item: toSummary,
      cursor: 'traceId',
    });
  },
});

function statusOf({ isError }: StoredTrace): 'ok' | 'error' {
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
