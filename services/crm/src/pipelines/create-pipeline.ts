import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { insertPipeline, openPipelines, selectPipeline } from './pipelines.sql.ts';

export const createPipeline = implement(contract.createPipeline, {
  async handle({ account, tx, body }) {
    // The account's own first one comes first, whoever asks for what before.
    await openPipelines(tx, account.id);
    const names = body.stages.map((stage) => stage.name);
    const id = await insertPipeline(tx, account.id, body.name, names);
    return (await selectPipeline(tx, account.id, id))!;
  },
});
