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
    id: integerId,
    contacts: z.tuple([ContactSummary, ContactSummary]).meta({ description: 'The two contacts, older first.' }),
    reason: duplicateReason,
    detail: z.string().meta({ description: 'The value they share.' }),
    score: z.int(),
  })
  .meta({ id: 'DuplicatePair' });

export const duplicatePath = z.object({ duplicate_id: integerId });
