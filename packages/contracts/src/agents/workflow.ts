import { z } from 'zod';
import { email, integerId, text, timestamp } from '../core/fields.ts';
import { agentAction, agentPath } from './agents.ts';

export const blockKind = z.enum(['ai', 'condition', 'action']).meta({
  description: 'Kind of block. The AI reads the workflow as guidance. An `action` block names its `action`.',
});

export const WorkflowBlock = z
  .object({
    id: text(100, 1).meta({ description: 'Unique within the workflow.' }),
    kind: blockKind,
    action: agentAction.optional().meta({ description: 'Action of an `action` block, which requires it.' }),
    teammate: email.optional().meta({ description: 'Email address of the team member whom the block names.' }),
    pipeline: integerId.optional().meta({ description: 'Id of the pipeline that the block names.' }),
    stage: integerId
      .optional()
      .meta({ description: 'Id of the stage that the block names; it belongs to `pipeline` if that is given.' }),
    collection: integerId.optional().meta({ description: 'Id of the knowledge collection that the block names.' }),
    params: z.record(z.string(), z.unknown()).default({}).meta({
      description: 'Further information for the AI, such as `goal`. Always there in responses.',
    }),
  })
  .refine(({ kind, action }) => kind !== 'action' || action !== undefined, {
    error: 'must be given for an action block',
    path: ['action'],
  })
  .meta({ id: 'WorkflowBlock', description: "A step of an agent's workflow, as it appears in the prompt." });
export type WorkflowBlock = z.output<typeof WorkflowBlock>;

export const WorkflowDraftInput = z.object({
  blocks: z
    .array(WorkflowBlock)
    .min(1)
    .max(200)
    .refine((blocks) => new Set(blocks.map(({ id }) => id)).size === blocks.length, {
      error: 'must have blocks with unique ids',
    })
    .meta({
      description: 'The whole workflow, in order. References in blocks are checked only on a rollback.',
    }),
});

export const WorkflowDraft = z
  .object({
    blocks: z.array(WorkflowBlock).meta({ description: 'The whole workflow, in order.' }),
    updated_at: timestamp.meta({ description: 'When the draft was last replaced.' }),
  })
  .meta({ id: 'WorkflowDraft', description: 'The workflow that the next publication makes live.' });

export const WorkflowVersion = z
  .object({
    number: z.int().meta({ description: 'Counts up from 1 for each agent; never reused.' }),
    note: z.string().meta({
      description: 'Note given when it was published; for a rollback, the restored version. May be empty.',
    }),
    by: z.string().nullable().meta({ description: 'Who published it; null if it was published through the API.' }),
    at: timestamp.meta({ description: 'When it was published.' }),
    blocks: z.int().meta({ description: 'Number of blocks.' }),
    ai_blocks: z.int().meta({ description: 'Number of blocks of kind `ai`.' }),
    live: z.boolean().meta({ description: 'Whether the agent uses this version for new plans.' }),
    running: z.int().meta({ description: 'Number of open plans that were made with this version.' }),
  })
  .meta({ id: 'WorkflowVersion', description: 'A published workflow; it never changes.' });
export type WorkflowVersion = z.infer<typeof WorkflowVersion>;

export const WorkflowVersionDetail = WorkflowVersion.extend({
  definition: z
    .array(WorkflowBlock)
    .meta({ description: 'Blocks of this version. To edit them, PUT them as the draft.' }),
}).meta({ id: 'WorkflowVersionDetail', description: 'A published workflow with its blocks.' });

export const PublishInput = z.object({
  note: text(500).default('').meta({ description: 'What is new in this version, shown in the list of versions.' }),
});

export const versionPath = agentPath.extend({
  number: integerId.meta({ description: 'Number of a workflow version.' }),
});
