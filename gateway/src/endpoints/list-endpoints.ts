import { adminOperations, type OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { ApiError, type ServiceName } from '@customer-platform/contracts/core';
import { type AnyEndpoint, listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { fewBytes, readPage, uuidCursor } from '@customer-platform/service-kit';
import { findCell } from '../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';

/** Time in which webhooks replies, or is gone: it counts what is pending. Less than the tool's live view waits for a response. */
const timeoutMs = 4_000;

/** Lists the endpoints of all accounts, those that have been failing longest first; none while webhooks is gone. */
export const listEndpoints = implement(adminOperations.listEndpoints, {
  async handle({ tx, account, query, resources: { cells, services } }) {
    const { failing, account: owner, endpoint } = query;
    const { cell } = services.place('webhooks', query.cell ?? (owner && (await findCell(tx, owner))));
    const { bus } = cells.named(cell);
    const filter = {
      ...(failing !== undefined && { failing }),
      ...(owner && { account: owner }),
      ...(endpoint && { endpoint }),
    };
    const read = async (after: string | undefined, limit: number) => {
      const input = { limit, ...filter, ...(after && { after }) };
      return (await bus.ask(listAllEndpoints, account.id, input, timeoutMs))?.endpoints;
    };
    const page = await readPage(query, {
      position: async (cursor) => ((await read(uuidCursor(cursor), 1)) ? uuidCursor(cursor) : undefined),
      rows: async (after, limit) => (await read(after, limit)) ?? [],
      bytes: fewBytes,
      item: (endpoint) => cells.shown({ ...toEndpoint(endpoint), cell }),
      cursor: 'id',
    }).catch((error: unknown) => {
      // Of a page after another nobody knows whether there is one.
      if (!isUnavailable(error) || query.starting_after !== undefined) throw error;
      return undefined;
    });
    const gone: ServiceName[] = page ? [] : ['webhooks'];
    return { ...(page ?? nothing), gone };
  },
});

const nothing = { data: [], has_more: false, next: null };

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'service_unavailable';
}

function toEndpoint({
  disabled_reason,
  failing_since,
  last_error,
  last_error_at,
  last_error_trace_id,
  ...endpoint
}: AnyEndpoint): OperatedEndpoint {
  return {
    ...endpoint,
    ...(disabled_reason && { disabled_reason }),
    ...(failing_since && { failing_since: toTimestamp(failing_since) }),
    ...(last_error && { last_error }),
    ...(last_error_at && { last_error_at: toTimestamp(last_error_at) }),
    ...(last_error_trace_id && { last_error_trace_id }),
  };
}
