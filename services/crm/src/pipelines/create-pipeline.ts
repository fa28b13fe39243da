import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { countPipelines, ensureDefaultPipeline, insertPipeline, selectPipeline } from './pipelines.sql.ts';

/** Maximum pipelines of an account, since other modules request the names of all of them. */
const maxPipelines = 1_000;

export const createPipeline = implement(contract.createPipeline, {
  async handle({ account, tx, body, fail }) {
    // The default pipeline gets the lowest id, even if the account's first request creates another one.
    await ensureDefaultPipeline(tx, account.id);
    if ((await countPipelines(tx, account.id)) >= maxPipelines)
      return fail('invalid_state', 'An account has at most 1,000 pipelines; delete one without deals first');
    const names = body.stages.map((stage) => stage.name);
    const id = await insertPipeline(tx, account.id, body.name, names);
    return (await selectPipeline(tx, account.id, id))!;
  },
});
