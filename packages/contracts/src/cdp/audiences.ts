import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { clearable, text, timestamp, uuid } from '../core/fields.ts';
import { consentPurpose } from './consents.ts';
import { eventName } from './contact-events.ts';

export const ruleMatch = z
  .enum(['all', 'any'], { error: 'must be all or any' })
  .meta({ description: 'Whether all conditions must hold, or at least one of them.' });

/** `did`: the contact has at least `at_least` such events within the last `days` × 86,400 s (null: ever). `did_not` is the negation. */
export const EventCondition = z
  .object({
    type: z.literal('event').meta({ description: 'A condition on events of the contact.' }),
    op: z.enum(['did', 'did_not'], { error: 'must be did or did_not' }).meta({
      description:
        '`did`: the event happened at least `at_least` times in the window. `did_not`: it happened fewer times, or never.',
    }),
    name: eventName,
    days: z
      .int({ error: 'must be 1 to 365 or null' })
      .min(1, 'must be 1 to 365 or null')
      .max(365, 'must be 1 to 365 or null')
      .nullable()
      .meta({ description: 'Window in days of 24 hours, counted back from now: 1 to 365, or null for all time.' }),
    at_least: z
      .int()
      .min(1)
      .max(1_000)
      .default(1)
      .meta({ description: 'Number of events that `did` requires. Always there in responses.' }),
  })
  .meta({ id: 'EventCondition' });

/** The contact's latest statement about a channel and a purpose. Without a statement, consent is not granted. */
export const ConsentCondition = z
  .object({
    type: z.literal('consent').meta({ description: "A condition on the contact's consent." }),
    channel: channel.meta({ description: 'Channel of the consent.' }),
    purpose: consentPurpose,
    op: z.enum(['granted', 'not_granted'], { error: 'must be granted or not_granted' }).default('granted').meta({
      description:
        '`granted`: the latest statement grants consent. `not_granted`: consent was withdrawn or never granted. Always there in responses.',
    }),
  })
  .meta({ id: 'ConsentCondition' });

const fieldOp = z
  .enum(['is', 'is_not', 'contains', 'starts_with', 'is_set', 'is_not_set', 'gt', 'gte', 'lt', 'lte'])
  .meta({
    description:
      'How to compare the field. `contains` and `starts_with` are case-sensitive. A field that is empty or not set meets only `is_not` and `is_not_set`.',
  });
const ordered = ['gt', 'gte', 'lt', 'lte'];

/** A field of the contact: name, phone (E.164), email (lowercase), external_id, or a key of its `fields`. "" counts as not set. */
export const FieldCondition = z
  .object({
    type: z.literal('field').meta({ description: 'A condition on a field of the contact.' }),
    name: text(100, 1).meta({
      description: '`name`, `phone`, `email` or `external_id`. Any other name means a custom field.',
    }),
    op: fieldOp,
    value: z
      .union([text(1_000), z.number(), z.boolean()])
      .optional()
      .meta({
        description:
          'Value to compare with. Leave it out with `is_set` and `is_not_set`. Numbers and booleans match only fields of their type. `is` and `is_not` normalize phone and email first.',
      }),
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
  .meta({ id: 'FieldCondition' });

export const TagCondition = z
  .object({
    type: z.literal('tag').meta({ description: "A condition on the contact's tags." }),
    op: z
      .enum(['has', 'has_not'], { error: 'must be has or has_not' })
      .meta({ description: 'Whether the contact must have the tag or must not have it.' }),
    tag: text(100, 1).meta({ description: 'The tag, case-sensitive.' }),
  })
  .meta({ id: 'TagCondition' });

const condition = z
  .discriminatedUnion('type', [EventCondition, ConsentCondition, FieldCondition, TagCondition], {
    error: 'must be a condition of type event, consent, field or tag',
  })
  .meta({ id: 'AudienceCondition' });
export type Condition = z.output<typeof condition>;

const conditionsOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1)
    .max(20)
    .meta({ description: '1 to 20 conditions. Only the outermost list can contain nested lists.' });

/** A nested list of conditions. There is only one level of nesting. */
export const NestedRules = z
  .object({ match: ruleMatch, conditions: conditionsOf(condition) })
  .meta({ id: 'NestedRules' });
export type NestedRules = z.output<typeof NestedRules>;

const item = z.union([condition, NestedRules]);

/** Rules of an audience: all or any of 1 to 20 entries. Each entry is a condition or a nested list of conditions. */
export const AudienceRules = z
  .object({ match: ruleMatch, conditions: conditionsOf(item) })
  .meta({ id: 'AudienceRules', description: 'Rules that decide which contacts are members; at most 256 KiB as JSON.' });
export type AudienceRules = z.output<typeof AudienceRules>;

const name = text(120, 1).meta({ description: 'Name of the audience, unique in the account.' });
const description = text(1_000);

export const AudienceInput = z.object({
  name,
  description: description.default('').meta({ description: 'What the audience is for.' }),
  rules: AudienceRules,
});

export const AudienceChange = z.object({
  name: name.optional(),
  description: clearable(description, '').meta({ description: 'What the audience is for; null removes the text.' }),
  rules: AudienceRules.optional(),
});

export const audienceStatus = z.enum(['building', 'ready', 'failed']).meta({
  description:
    '`building`: the members are being computed. `ready`: they are kept up to date. `failed`: `error` says why.',
});

export const Audience = z
  .object({
    id: z.guid().meta({ description: 'Id of the audience.' }),
    name: z.string().meta({ description: 'Name of the audience, unique in the account.' }),
    description: z.string().meta({ description: 'What the audience is for; empty if not given.' }),
    status: audienceStatus,
    error: z.string().meta({ description: 'Why the computation failed; otherwise empty.' }),
    members: z.int().meta({ description: 'Number of members; while `building`, the previous number.' }),
    refreshed_at: timestamp
      .nullable()
      .meta({ description: 'When the members were last computed; null before the first time.' }),
    created_at: timestamp.meta({ description: 'When the audience was created.' }),
    updated_at: timestamp.meta({ description: 'When the name, description or rules last changed.' }),
    rules: AudienceRules,
  })
  .meta({ id: 'Audience', description: 'A group of contacts, kept up to date by rules.' });
export type Audience = z.infer<typeof Audience>;

export const AudienceMember = z
  .object({
    id: z.guid().meta({ description: 'Id of the contact.' }),
    name: z.string().meta({ description: 'Full name; empty if unknown.' }),
    phone: z.string().meta({ description: 'Phone number in E.164; empty if there is none.' }),
    entered_at: timestamp.meta({
      description: 'When the contact last became a member.',
    }),
  })
  .meta({ id: 'AudienceMember' });

export const AudienceExplanation = z.object({
  member: z.boolean().meta({ description: 'True if the contact meets the rules now.' }),
  conditions: z
    .array(
      z
        .object({
          condition: z
            .union([condition, NestedRules])
            .meta({ description: 'A condition of the rules, or a nested list of conditions.' }),
          holds: z.boolean().meta({ description: 'True if the contact meets the condition now.' }),
          because: z.string().meta({ description: 'The reason, as a sentence.' }),
        })
        .meta({ id: 'ExplainedCondition' }),
    )
    .meta({ description: 'The conditions of the rules, in the same order.' }),
});

export const audiencePath = z.object({
  audience_id: uuid.meta({ description: 'Id of the audience.', param: { id: 'AudienceId' } }),
});
