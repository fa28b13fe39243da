import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp } from '../core/fields.ts';

const purpose = text(100, 1).meta({ examples: ['marketing'] });

export const consentState = z.enum(['granted', 'withdrawn'], { error: 'must be granted or withdrawn' });

/** One statement of a contact about being reached on a channel for a purpose; earlier statements stay on record. */
export const Consent = z
  .object({
    id: z.guid(),
    channel,
    purpose: z.string(),
    state: consentState,
    source: z.string(),
    at: timestamp.meta({ description: 'When the contact said it.' }),
    created_at: timestamp,
  })
  .meta({ id: 'Consent' });
export type Consent = z.infer<typeof Consent>;

export const ConsentInput = z.object({
  channel,
  purpose,
  state: consentState,
  source: text(200).default('').meta({ description: 'Where the contact said it, such as a form.' }),
  at: instant
    .optional()
    .meta({ description: 'When the contact said it; default: now. Up to 5 minutes ahead counts as now.' }),
});

/** Purpose in a consent condition or a request of a sender. */
export const consentPurpose = purpose;
