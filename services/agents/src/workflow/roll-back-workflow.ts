import * as contract from '@customer-platform/contracts/agents';
import { refuseArchived } from '../agents/agent.ts';
import { lockAgent, selectCollectionIds } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { askForParts, brokenParts, partsOf } from './broken-parts.ts';
import { refuseMoreVersions, toVersion } from './version.ts';
import { publishVersion, selectBlocks } from './workflow.sql.ts';

/** Checks references to other services before it locks the agent, and references to the agent's own resources under the lock. */
export const rollBackWorkflow = implement(contract.rollBackWorkflow, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, params, found, now, fail, prefetch }) {
    refuseArchived(found);
    const { number } = params;
    if (number > found.last_version) {
      const latest = found.last_version === 0 ? 'nothing was published' : `the latest is ${found.last_version}`;
      return fail('invalid_state', `The workflow has no version ${number}; ${latest}`);
    }
    if (number === found.live_version) return fail('invalid_state', `Version ${number} is already live`);
    refuseMoreVersions(found);
    // Versions never change, so the second run has the same references as the prefetch.
    const blocks = (await selectBlocks(tx, account.id, found.id, number))!;
    const parts = partsOf(blocks);
    const hasPipelines = account.modules.includes('crm');
    const asked = prefetch(({ ask }) =>
      askForParts(ask, hasPipelines ? parts : { ...parts, pipelines: [], stages: [] }),
    );
    const collections = await selectCollectionIds(tx, account.id, parts.collections);
    const broken = brokenParts(blocks, { ...asked, hasPipelines, actions: found.actions, collections });
    if (broken.length > 0) {
      const rule = 'restore it as the draft and fix it there';
      return fail('invalid_state', `Version ${number} is broken now: ${broken.join(', ')}; ${rule}`);
    }
    const note = `Rolled back to version ${number}`;
    const version = await publishVersion(tx, account.id, found.id, { source: { number }, note, at: now });
    return toVersion(version, account.timezone);
  },
});
