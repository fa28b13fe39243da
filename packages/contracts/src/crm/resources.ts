import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { clearable, currency, integerId, text, timestamp, uuid } from '../core/fields.ts';

const pipelineName = text(120, 1);
const stageName = text(120, 1);
const maxStages = 50;

export const Stage = z.object({ id: integerId, name: z.string(), order: z.int() }).meta({ id: 'PipelineStage' });
export type Stage = z.infer<typeof Stage>;

export const Pipeline = z
  .object({ id: integerId, name: z.string(), stages: z.array(Stage).meta({ description: 'Stages in order, from 1.' }) })
  .meta({ id: 'Pipeline' });
export type Pipeline = z.infer<typeof Pipeline>;

export const PipelineInput = z.object({
  name: pipelineName,
  stages: z
    .array(z.object({ name: stageName }).meta({ id: 'NewStage' }))
    .min(1)
    .max(maxStages)
    .meta({ description: 'Stages in order.' }),
});

export const PipelineChange = z.object({
  name: pipelineName.optional(),
  stages: z
    .array(
      z
        .object({ id: integerId.optional(), name: stageName.optional() })
        .refine(({ id, name }) => id ?? name, {
          error: 'must have an id, a name, or both',
        })
        .meta({ id: 'StageChange' }),
    )
    .min(1)
    .max(maxStages)
    .optional()
    .meta({
      description:
        'The whole list in order: a stage with an id is kept or renamed, one without is new, and one left out is removed.',
    }),
});

export const dealStatus = z.enum(['open', 'won', 'lost']);
export type DealStatus = z.infer<typeof dealStatus>;

const title = text(200, 1);
export const maxDealNotes = 5_000;
const notes = text(maxDealNotes);
const valueMinor = z.int().min(0).meta({ description: "Amount in the currency's minor unit." });

const Named = z.object({ id: integerId, name: z.string() });

export const Deal = z
  .object({
    id: z.guid(),
    title: z.string(),
    pipeline: Named,
    stage: Named,
    status: dealStatus,
    value_minor: z.int(),
    currency: z.string(),
    contact: ContactSummary.nullable(),
    notes: z.string(),
    stage_entered_at: timestamp,
    closed_at: timestamp.nullable().meta({ description: 'When the deal was won or lost; null while open.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Deal' });
export type Deal = z.infer<typeof Deal>;

export const DealInput = z.object({
  title,
  pipeline: integerId
    .optional()
    .meta({ description: "Default: the stage's pipeline, otherwise the account's first pipeline." }),
  stage: integerId.optional().meta({ description: 'A stage of the pipeline; default: its first stage.' }),
  value_minor: valueMinor.default(0),
  currency: currency.optional().meta({ description: "Default: the account's setting." }),
  contact: uuid.optional(),
  notes: notes.default(''),
});

const elsewhere = (name: string) =>
  z
    .unknown()
    .optional()
    .refine((value) => value === undefined, { error: `must be left out: ${name}` });

export const DealChange = z.object({
  title: title.optional(),
  value_minor: valueMinor.optional(),
  currency: currency.optional(),
  contact: clearable(uuid.or(z.literal('')), '').meta({
    description: 'Id of a contact; null or an empty string removes it.',
  }),
  notes: clearable(notes, ''),
  stage: elsewhere('POST …/move changes the stage'),
  pipeline: elsewhere('a deal stays in its pipeline'),
  status: elsewhere('POST …/win, /lose and /reopen change the status'),
});

export const pipelinePath = z.object({ pipeline_id: integerId.meta({ param: { id: 'PipelineId' } }) });
export const dealPath = z.object({ deal_id: uuid.meta({ param: { id: 'DealId' } }) });
