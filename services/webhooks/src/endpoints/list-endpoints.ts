import { uuid } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/webhooks';
import { badCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toEndpoint } from './endpoint.ts';
import { findEndpoint, selectEndpoints } from './endpoints.sql.ts';

export const listEndpoints = implement(contract.listEndpoints, {
  async handle({ account, query, tx }) {
    const { limit, starting_after: after } = query;
    if (after !== undefined && !(uuid.safeParse(after).success && (await findEndpoint(tx, account.id, after)))) {
      throw badCursor();
    }
    const rows = await selectEndpoints(tx, account.id, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toEndpoint(row, account),
      (row) => row.id,
    );
  },
});
