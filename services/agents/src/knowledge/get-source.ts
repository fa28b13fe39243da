import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toSource } from './source.ts';
import { selectSource } from './sources.sql.ts';

export const getSource = implement(contract.getSource, {
  find: ({ account, tx, params }) => selectSource(tx, account.id, params.source_id),
  handle: async ({ account, found }) => toSource(found, account.timezone),
});
