import { uuid } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/webhooks';
import { badCursor, toPage } from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { findCursor, selectDeliveries } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const listDeliveries = implement(contract.listDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  async handle({ account, found, query, tx }) {
    const { limit, starting_after, status, event } = query;
    const isId = starting_after !== undefined && uuid.safeParse(starting_after).success;
    const after = isId ? await findCursor(tx, account.id, found.id, starting_after) : undefined;
    if (starting_after !== undefined && after === undefined) throw badCursor();
    const rows = await selectDeliveries(tx, account.id, found.id, { status, event }, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toDelivery(row, account),
      (row) => row.id,
    );
  },
});
