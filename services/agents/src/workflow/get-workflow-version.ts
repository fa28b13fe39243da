import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toVersion } from './version.ts';
import { listVersionRows, selectBlocks } from './workflow.sql.ts';

export const getWorkflowVersion = implement(contract.getWorkflowVersion, {
  async find({ account, tx, params: { agent_id, number } }) {
    const [row] = await listVersionRows(tx, account.id, agent_id, { after: number + 1, limit: 1 });
    return row?.number === number ? row : undefined;
  },
  async handle({ account, tx, params, found }) {
    // A version never changes, and is deleted only with its agent.
    const definition = (await selectBlocks(tx, account.id, params.agent_id, params.number)) ?? [];
    return { ...toVersion(found, account.timezone), definition };
  },
});
