import { adminOperations, type OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { type AnyEndpoint, listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { fewBytes, readPage, uuidCursor } from '@customer-platform/service-kit';
import { findCell } from '../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';

/** Time in which webhooks replies. */
const timeoutMs = 5_000;

/** Lists the endpoints of all accounts, those that have been failing longest first. */
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
    return await readPage(query, {
      position: async (cursor) => ((await read(uuidCursor(cursor), 1)) ? uuidCursor(cursor) : undefined),
      rows: async (after, limit) => (await read(after, limit)) ?? [],
      bytes: fewBytes,
      item: (endpoint) => cells.shown({ ...toEndpoint(endpoint), cell }),
      cursor: 'id',
    });
  },
});

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
