import * as contract from '@customer-platform/contracts/agents';
import { formatInstant } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectDraft } from './workflow.sql.ts';

export const getWorkflowDraft = implement(contract.getWorkflowDraft, {
  find: ({ account, tx, params }) => selectDraft(tx, account.id, params.agent_id),
  async handle({ account, found: { blocks, updated_at } }) {
    return { blocks, updated_at: formatInstant(updated_at, account.timezone) };
  },
});
