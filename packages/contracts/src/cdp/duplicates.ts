import { z } from 'zod';
import { integerId } from '../core/fields.ts';
import { ContactSummary } from './resources.ts';

/** Reasons why two contacts are a duplicate pair, strongest first. */
export const duplicateReason = z.enum(['external_id', 'email', 'phone', 'name'], {
  error: 'must be external_id, email, phone or name',
});
export type DuplicateReason = z.infer<typeof duplicateReason>;

/** Confidence by reason, in percent. */
export const duplicateScores: Readonly<Record<DuplicateReason, number>> = {
  external_id: 95,
  email: 90,
  phone: 70,
  name: 60,
};

export const DuplicatePair = z
  .object({
    id: integerId.meta({ description: 'Id of the pair.' }),
    contacts: z.tuple([ContactSummary, ContactSummary]).meta({ description: 'The two contacts, older first.' }),
    reason: duplicateReason.meta({
      description:
        'What the two contacts share; if there are several reasons, the strongest. `name`: the name and the email domain.',
    }),
    detail: z.string().meta({ description: 'The shared value.' }),
    score: z.int().meta({
      description: 'Confidence in percent, by reason: external_id 95, email 90, phone 70, name 60.',
    }),
  })
  .meta({ id: 'DuplicatePair' });

export const duplicatePath = z.object({
  duplicate_id: integerId.meta({ description: 'Id of the duplicate pair.' }),
});
