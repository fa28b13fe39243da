import * as contract from '@customer-platform/contracts/agents';
import { refuseArchived } from '../agents/agent.ts';
import { lockAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { refuseMoreVersions, toVersion } from './version.ts';
import { publishVersion } from './workflow.sql.ts';

export const publishWorkflow = implement(contract.publishWorkflow, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, body, found, now, fail }) {
    refuseArchived(found);
    if (!found.has_draft) return fail('invalid_state', 'The workflow has no draft; PUT one first');
    refuseMoreVersions(found);
    const { note } = body;
    const version = await publishVersion(tx, account.id, found.id, { source: 'draft', note, at: now });
    return toVersion(version, account.timezone);
  },
});
