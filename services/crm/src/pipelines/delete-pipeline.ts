import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { deletePipelineRow, lockPipeline, stageWithDeals } from './pipelines.sql.ts';

export const deletePipeline = implement(contract.deletePipeline, {
  find: ({ account, tx, params }) => lockPipeline(tx, account.id, params.pipeline_id),
  async handle({ account, tx, found, fail }) {
    const ids = found.stages.map((stage) => stage.id);
    const used = await stageWithDeals(tx, account.id, ids);
    if (used !== undefined) {
      const message = `The pipeline ${found.name} has deals in its stage ${used}; only a pipeline without deals can be deleted`;
      return fail('invalid_state', message);
    }
    await deletePipelineRow(tx, account.id, found.id);
    return undefined;
  },
});
