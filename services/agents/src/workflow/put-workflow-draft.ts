import * as contract from '@customer-platform/contracts/agents';
import { exceededBound, formatInstant } from '@customer-platform/service-kit';
import { refuseArchived } from '../agents/agent.ts';
import { lockAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { maxWrittenOut, updateDraft } from './workflow.sql.ts';

/** Maximum bytes of a draft's blocks as JSON. Each version stores a copy. */
const maxBlocksBytes = 262_144;
/** Maximum commas and brackets in the JSON. Parsing 26,000 objects of one field takes 100 times as long as a string of the same size. */
const maxStructure = 20_000;

/** Writes the draft without checking its references, since their targets may be created later. A rollback checks them. */
export const putWorkflowDraft = implement(contract.putWorkflowDraft, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, body, found, now, fail }) {
    const text = JSON.stringify(body.blocks);
    if (Buffer.byteLength(text) > maxBlocksBytes)
      return fail('invalid_request', `blocks must have at most ${maxBlocksBytes} bytes as JSON`, 'blocks');
    if (exceededBound(text, { structure: maxStructure }))
      return fail('invalid_request', `blocks must have at most ${maxStructure} commas and brackets as JSON`, 'blocks');
    refuseArchived(found);
    const isWritten = await updateDraft(tx, account.id, found.id, { blocks: body.blocks, at: now });
    if (!isWritten)
      return fail(
        'invalid_request',
        `blocks must have at most ${maxWrittenOut} bytes when every number is written in full`,
        'blocks',
      );
    return { blocks: body.blocks, updated_at: formatInstant(now, account.timezone) };
  },
});
