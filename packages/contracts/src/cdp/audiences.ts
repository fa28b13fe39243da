import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { clearable, omittable, text, timestamp, uuid } from '../core/fields.ts';
import { consentPurpose } from './consents.ts';
import { eventName } from './contact-events.ts';

export const ruleMatch = z.enum(['all', 'any'], { error: 'must be all or any' });

/** The contact did an event within the last `days` × 86,400 s (null: ever) at least `at_least` times; `did_not` is its negation. */
export const EventCondition = z
  .object({
    type: z.literal('event'),
    op: z.enum(['did', 'did_not'], { error: 'must be did or did_not' }),
    name: eventName,
    days: z
      .int({ error: 'must be 1 to 365 or null' })
      .min(1, 'must be 1 to 365 or null')
      .max(365, 'must be 1 to 365 or null')
      .nullable(),
    at_least: z.int().min(1).max(1_000).default(1).meta({ description: 'Always there in responses.' }),
  })
  .meta({ id: 'EventCondition' });

/** The contact's last statement about a channel and a purpose; without a statement, consent is not granted. */
export const ConsentCondition = z
  .object({
    type: z.literal('consent'),
    channel,
    purpose: consentPurpose,
    op: z
      .enum(['granted', 'not_granted'], { error: 'must be granted or not_granted' })
      .default('granted')
      .meta({ description: 'Always there in responses.' }),
  })
  .meta({ id: 'ConsentCondition' });

const fieldName = text(100, 1);
const fieldValue = z.union([text(1_000), z.number(), z.boolean()]);
const fieldOp = z.enum(['is', 'is_not', 'contains', 'starts_with', 'is_set', 'is_not_set', 'gt', 'gte', 'lt', 'lte']);
const ordered = ['gt', 'gte', 'lt', 'lte'];

/** A field of the contact: name, phone (E.164), email (lower case), external_id, else a key of its `fields`. "" counts as not set. */
export const FieldConditionInput = z
  .object({
    type: z.literal('field'),
    name: fieldName,
    op: fieldOp,
    value: omittable(fieldValue),
  })
  .superRefine(({ op, value }, context) => {
    const needsNone = op === 'is_set' || op === 'is_not_set';
    const issue = (message: string) => context.addIssue({ code: 'custom', path: ['value'], message });
    if (needsNone && value !== undefined) issue(`must be left out with ${op}`);
    else if (!needsNone && value === undefined) issue(`must be given with ${op}`);
    else if ((op === 'contains' || op === 'starts_with') && typeof value !== 'string')
      issue(`must be a string with ${op}`);
    else if (ordered.includes(op) && typeof value === 'boolean') issue(`must be a number or a string with ${op}`);
  })
  .meta({ id: 'FieldConditionInput' });

export const FieldCondition = z
  .object({
    type: z.literal('field'),
    name: fieldName,
    op: fieldOp,
    value: fieldValue.nullable().meta({ description: 'Null with is_set and is_not_set.' }),
  })
  .meta({ id: 'FieldCondition' });

export const TagCondition = z
  .object({
    type: z.literal('tag'),
    op: z.enum(['has', 'has_not'], { error: 'must be has or has_not' }),
    tag: text(100, 1),
  })
  .meta({ id: 'TagCondition' });

const conditionsOf = <Item extends z.ZodType>(item: Item) => z.array(item).min(1).max(20);

/** All or any of 1 to 20 conditions, each of which may itself be such a list: the one nested level. `suffix` is that of their names. */
function rulesOf<Field extends typeof FieldCondition | typeof FieldConditionInput>(field: Field, suffix: string) {
  const condition = z
    .discriminatedUnion('type', [EventCondition, ConsentCondition, field, TagCondition], {
      error: 'must be a condition of type event, consent, field or tag',
    })
    .meta({ id: `AudienceCondition${suffix}` });
  const nested = z
    .object({ match: ruleMatch, conditions: conditionsOf(condition) })
    .meta({ id: `NestedRules${suffix}` });
  const item = z.union([condition, nested]);
  const rules = z
    .object({ match: ruleMatch, conditions: conditionsOf(item) })
    .meta({ id: `AudienceRules${suffix}`, description: 'At most 256 KiB as JSON.' });
  return { condition, nested, item, rules };
}

const given = rulesOf(FieldConditionInput, 'Input');
export type Condition = z.output<typeof given.condition>;
export type NestedRules = z.output<typeof given.nested>;
/** Rules as they are written. */
export const AudienceRulesInput = given.rules;
export type AudienceRulesInput = z.output<typeof AudienceRulesInput>;

const shown = rulesOf(FieldCondition, '');
/** Rules as responses show them: with every field. */
export const AudienceRules = shown.rules;
export type AudienceRules = z.infer<typeof AudienceRules>;
export type ShownItem = z.infer<typeof shown.item>;

const name = text(120, 1).meta({ description: 'Unique in the account.' });
const description = text(1_000);

export const AudienceInput = z.object({ name, description: description.default(''), rules: AudienceRulesInput });

export const AudienceChange = z.object({
  name: name.optional(),
  description: clearable(description, ''),
  rules: AudienceRulesInput.optional(),
});

export const audienceStatus = z.enum(['building', 'ready', 'failed']);

export const Audience = z
  .object({
    id: z.guid(),
    name: z.string(),
    description: z.string(),
    status: audienceStatus,
    error: z.string().meta({ description: 'Why it failed; empty otherwise.' }),
    members: z.int().meta({ description: 'Number of members; while building, the previous number.' }),
    refreshed_at: timestamp.nullable().meta({ description: 'When the members were last computed.' }),
    created_at: timestamp,
    updated_at: timestamp,
    rules: AudienceRules,
  })
  .meta({ id: 'Audience' });
export type Audience = z.infer<typeof Audience>;

export const AudienceMember = z
  .object({ id: z.guid(), name: z.string(), phone: z.string(), entered_at: timestamp })
  .meta({ id: 'AudienceMember' });

export const AudienceExplanation = z.object({
  member: z.boolean(),
  conditions: z.array(
    z
      .object({
        condition: shown.item,
        holds: z.boolean(),
        because: z.string().meta({ description: 'The reason, as a sentence.' }),
      })
      .meta({ id: 'ExplainedCondition' }),
  ),
});

export const audiencePath = z.object({ audience_id: uuid.meta({ param: { id: 'AudienceId' } }) });
