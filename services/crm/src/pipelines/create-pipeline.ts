import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { ensureDefaultPipeline, insertPipeline, selectPipeline } from './pipelines.sql.ts';

export const createPipeline = implement(contract.createPipeline, {
  async handle({ account, tx, body }) {
    // The default pipeline gets the lowest id, even if the account's first request creates another one.
    await ensureDefaultPipeline(tx, account.id);
    const names = body.stages.map((stage) => stage.name);
    const id = await insertPipeline(tx, account.id, body.name, names);
    return (await selectPipeline(tx, account.id, id))!;
  },
});
