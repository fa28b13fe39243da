import { z } from 'zod';
import { email, integerId, omittable, text, timestamp } from '../core/fields.ts';
import { agentAction, agentPath } from './agents.ts';

export const blockKind = z.enum(['ai', 'condition', 'action']);

const blockId = text(100, 1).meta({ description: 'Unique within the workflow.' });

export const WorkflowBlockInput = z
  .object({
    id: blockId,
    kind: blockKind,
    action: omittable(agentAction).meta({ description: 'Action of an action block; required there.' }),
    teammate: omittable(email),
    pipeline: omittable(integerId),
    stage: omittable(integerId),
    collection: omittable(integerId),
    params: z.record(z.string(), z.unknown()).default({}),
  })
  .refine(({ kind, action }) => kind !== 'action' || action !== undefined, {
    error: 'must be given for an action block',
    path: ['action'],
  })
  .meta({ id: 'WorkflowBlockInput' });
export type WorkflowBlockInput = z.output<typeof WorkflowBlockInput>;

export const WorkflowBlock = z
  .object({
    id: blockId,
    kind: blockKind,
    action: agentAction.nullable().meta({ description: 'Action of an action block.' }),
    teammate: email.nullable(),
    pipeline: integerId.nullable(),
    stage: integerId.nullable(),
    collection: integerId.nullable(),
    params: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'WorkflowBlock' });
export type WorkflowBlock = z.infer<typeof WorkflowBlock>;

export const WorkflowDraftInput = z.object({
  blocks: z
    .array(WorkflowBlockInput)
    .min(1)
    .max(200)
    .refine((blocks) => new Set(blocks.map(({ id }) => id)).size === blocks.length, {
      error: 'must have blocks with different ids',
    }),
});

export const WorkflowDraft = z
  .object({ blocks: z.array(WorkflowBlock), updated_at: timestamp })
  .meta({ id: 'WorkflowDraft' });

export const WorkflowVersion = z
  .object({
    number: z.int(),
    note: z.string(),
    by: z.string().nullable().meta({ description: 'Who published it; null if published through the API.' }),
    at: timestamp,
    blocks: z.int(),
    ai_blocks: z.int(),
    live: z.boolean(),
    running: z.int().meta({ description: 'Number of open plans made with this version.' }),
  })
  .meta({ id: 'WorkflowVersion' });
export type WorkflowVersion = z.infer<typeof WorkflowVersion>;

export const WorkflowVersionDetail = WorkflowVersion.extend({
  definition: z
    .array(WorkflowBlock)
    .meta({ description: 'Blocks of this version; PUT them as the draft to edit them.' }),
}).meta({ id: 'WorkflowVersionDetail' });

export const PublishInput = z.object({ note: text(500).default('') });

export const versionPath = agentPath.extend({ number: integerId });
