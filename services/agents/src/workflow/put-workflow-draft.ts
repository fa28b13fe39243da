import * as contract from '@customer-platform/contracts/agents';
import { brokenBound, formatInstant } from '@customer-platform/service-kit';
import { refuseArchived } from '../agents/agent.ts';
import { lockAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { maxWrittenOut, updateDraft } from './workflow.sql.ts';

/** Maximum size of a draft's blocks as JSON: each version has a copy. */
const maxBlocksBytes = 262_144;
/** Most commas and brackets of them as JSON: 26,000 objects of one field take a hundred times as long to read as a text of the same size. */
const maxStructure = 20_000;

/** References are checked when a version is rolled back to, not in a draft: it may be written ahead. */
export const putWorkflowDraft = implement(contract.putWorkflowDraft, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, body, found, now, fail }) {
    const text = JSON.stringify(body.blocks);
    if (Buffer.byteLength(text) > maxBlocksBytes)
      return fail('invalid_request', `blocks must have at most ${maxBlocksBytes} bytes as JSON`, 'blocks');
    if (brokenBound(text, { structure: maxStructure }))
      return fail('invalid_request', `blocks must have at most ${maxStructure} commas and brackets as JSON`, 'blocks');
    refuseArchived(found);
    const isWritten = await updateDraft(tx, account.id, found.id, { blocks: body.blocks, at: now });
    if (!isWritten)
      return fail(
        'invalid_request',
        `blocks must have at most ${maxWrittenOut} bytes with each number in full`,
        'blocks',
      );
    return { blocks: body.blocks, updated_at: formatInstant(now, account.timezone) };
  },
});
