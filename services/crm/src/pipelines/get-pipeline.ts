import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { selectPipeline } from './pipelines.sql.ts';

export const getPipeline = implement(contract.getPipeline, {
  find: ({ account, tx, params }) => selectPipeline(tx, account.id, params.pipeline_id),
  handle: async ({ found }) => found,
});
