import * as contract from '@customer-platform/contracts/agents';
import { formatInstant } from '@customer-platform/service-kit';
import { refuseArchived } from '../agents/agent.ts';
import { lockAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { updateDraft } from './workflow.sql.ts';

/** References are checked when a version is rolled back to, not in a draft: it may be written ahead. */
export const putWorkflowDraft = implement(contract.putWorkflowDraft, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, body, found, now }) {
    refuseArchived(found);
    await updateDraft(tx, account.id, found.id, { blocks: body.blocks, at: now });
    return { blocks: body.blocks, updated_at: formatInstant(now, account.timezone) };
  },
});
