import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { clearable, currency, integerId, text, timestamp, uuid } from '../core/fields.ts';

const pipelineName = text(120, 1).meta({ description: 'Name of the pipeline, not necessarily unique.' });
const stageName = text(120, 1);
const maxStages = 50;

export const Stage = z
  .object({
    id: integerId.meta({ description: 'Id of the stage. It stays the same when the stage is renamed or moved.' }),
    name: z.string().meta({ description: 'Name of the stage.' }),
    order: z.int().meta({ description: 'Position in the pipeline, from 1.' }),
  })
  .meta({ id: 'PipelineStage' });
export type Stage = z.infer<typeof Stage>;

export const Pipeline = z
  .object({
    id: integerId.meta({ description: 'Id of the pipeline.' }),
    name: z.string().meta({ description: 'Name of the pipeline, not necessarily unique.' }),
    stages: z.array(Stage).meta({ description: 'Stages in order.' }),
  })
  .meta({ id: 'Pipeline', description: 'A sequence of stages through which deals move.' });
export type Pipeline = z.infer<typeof Pipeline>;

export const PipelineInput = z.object({
  name: pipelineName,
  stages: z
    .array(z.object({ name: stageName.meta({ description: 'Name of the stage.' }) }).meta({ id: 'NewStage' }))
    .min(1)
    .max(maxStages)
    .meta({ description: 'Stages in order.' }),
});

export const PipelineChange = z.object({
  name: pipelineName.optional(),
  stages: z
    .array(
      z
        .object({
          id: integerId.optional().meta({ description: 'Id of a stage to keep. Leave it out for a new stage.' }),
          name: stageName.optional().meta({
            description: 'Name of the stage; required for a new stage. An existing stage keeps its name by default.',
          }),
        })
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
        'The whole list, in order. A stage with an id is kept or renamed, a stage without an id is added, and a stage left out is removed.',
    }),
});

export const dealStatus = z.enum(['open', 'won', 'lost']).meta({
  description: '`open`, or how the deal was closed. Only the operations win, lose and reopen change it.',
});
export type DealStatus = z.infer<typeof dealStatus>;

const title = text(200, 1).meta({ description: 'Title of the deal.' });
export const maxDealNotes = 5_000;
const notes = text(maxDealNotes);
const valueRule = "Value of the deal in the currency's minor unit, such as cents.";
const valueMinor = z.int().min(0).meta({ description: valueRule });

export const Deal = z
  .object({
    id: z.guid().meta({ description: 'Id of the deal.' }),
    title: z.string().meta({ description: 'Title of the deal.' }),
    pipeline: Pipeline.pick({ id: true, name: true }).meta({ description: 'The pipeline, which never changes.' }),
    stage: Stage.pick({ id: true, name: true }).meta({
      description: 'Stage of the deal in its pipeline. A closed deal keeps its stage.',
    }),
    status: dealStatus,
    value_minor: z.int().meta({ description: valueRule }),
    currency: z.string().meta({ description: 'Currency of the value: an ISO 4217 code.' }),
    contact: ContactSummary.nullable().meta({
      description: 'The contact; after a merge, the surviving contact. Null if the deal has none.',
    }),
    notes: z.string().meta({ description: 'Free text about the deal. Notes that agents add are appended to it.' }),
    stage_entered_at: timestamp.meta({ description: 'When the deal entered its stage.' }),
    closed_at: timestamp.nullable().meta({ description: 'When the deal was won or lost; null while it is open.' }),
    created_at: timestamp.meta({ description: 'When the deal was created.' }),
    updated_at: timestamp.meta({ description: 'When the deal last changed.' }),
  })
  .meta({ id: 'Deal', description: 'A possible sale, in a stage of a pipeline.' });
export type Deal = z.infer<typeof Deal>;

export const DealInput = z.object({
  title,
  pipeline: integerId
    .optional()
    .meta({ description: "Id of a pipeline; default: that of `stage`, otherwise the account's first pipeline." }),
  stage: integerId.optional().meta({ description: 'Id of a stage of the pipeline; default: its first stage.' }),
  value_minor: valueMinor.default(0),
  currency: currency.optional().meta({ description: "ISO 4217 code; default: the account's currency." }),
  contact: uuid.optional().meta({ description: 'Id of the contact, if the deal has one.' }),
  notes: notes.default('').meta({ description: 'Free text about the deal.' }),
});

const refusedField = (rule: string) =>
  z
    .unknown()
    .optional()
    .refine((value) => value === undefined, { error: `must be left out: ${rule}` })
    .meta({ description: `Refused: ${rule}.` });

export const DealChange = z.object({
  title: title.optional(),
  value_minor: valueMinor.optional(),
  currency: currency.optional().meta({ description: 'ISO 4217 code. The value is not converted.' }),
  contact: clearable(uuid.or(z.literal('')), '').meta({
    description: 'Id of a contact; null or an empty string removes it.',
  }),
  notes: clearable(notes, '').meta({ description: 'Free text about the deal; null or an empty string removes it.' }),
  stage: refusedField('use POST …/move to change the stage'),
  pipeline: refusedField('the pipeline of a deal never changes'),
  status: refusedField('use POST …/win, /lose or /reopen to change the status'),
});

export const pipelinePath = z.object({
  pipeline_id: integerId.meta({ description: 'Id of the pipeline.', param: { id: 'PipelineId' } }),
});
export const dealPath = z.object({ deal_id: uuid.meta({ description: 'Id of the deal.', param: { id: 'DealId' } }) });
