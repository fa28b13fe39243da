import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { toEndpoint } from './endpoint.ts';
import { findEndpoint } from './endpoints.sql.ts';

export const getEndpoint = implement(contract.getEndpoint, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  handle: async ({ account, found }) => toEndpoint(found, account),
});
