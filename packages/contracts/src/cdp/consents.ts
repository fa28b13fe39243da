import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp } from '../core/fields.ts';

const purposeRule =
  'What the consent is for, in your own words. Messages with the purpose `marketing` need the consent `marketing`.';
const purpose = text(100, 1).meta({ description: purposeRule, examples: ['marketing'] });

export const consentState = z
  .enum(['granted', 'withdrawn'], { error: 'must be granted or withdrawn' })
  .meta({ description: 'Whether the contact granted the consent or withdrew it.' });
const consentChannel = channel.meta({ description: 'Channel that the consent is for.' });

/** A contact's statement about being contacted on a channel for a purpose. Earlier statements stay on record. */
export const Consent = z
  .object({
    id: z.guid().meta({ description: 'Id of the statement.' }),
    channel: consentChannel,
    purpose: z.string().meta({ description: purposeRule }),
    state: consentState,
    source: z.string().meta({
      description:
        'Where the contact made the statement; empty if not given. The platform sets `keyword` (such as STOP) and `unsubscribe`.',
    }),
    at: timestamp.meta({ description: 'When the contact made the statement.' }),
    created_at: timestamp.meta({ description: 'When the statement was recorded.' }),
  })
  .meta({ id: 'Consent' });
export type Consent = z.infer<typeof Consent>;

export const ConsentInput = z.object({
  channel: consentChannel,
  purpose,
  state: consentState,
  source: text(200).default('').meta({ description: 'Where the contact made the statement, such as a form.' }),
  at: instant.optional().meta({
    description: 'When the statement was made; default: now. Up to 5 minutes ahead counts as now.',
  }),
});

/** Purpose in a consent condition or an internal request. */
export const consentPurpose = purpose;
