import { z } from 'zod';
import { instant, text, uuid } from '../core/fields.ts';

/** Name of a contact's event; the platform's own event kinds are such names too. */
export const eventName = text(100, 1).meta({ examples: ['cart.abandoned'] });

/** An event of a contact in the body of POST /v1/cdp/events. */
export const ContactEventInput = z
  .object({
    id: text(200, 1)
      .optional()
      .meta({ description: 'Unique in the account: an event whose id is known is ignored. Default: a new id.' }),
    contact: uuid.optional(),
    external_id: text(200, 1)
      .optional()
      .meta({ description: 'Instead of `contact`: names the oldest contact with this external id.' }),
    name: eventName,
    at: instant.optional().meta({ description: 'When it happened; default: now, at most 5 minutes ahead.' }),
    properties: z.record(z.string(), z.unknown()).default({}),
  })
  .refine(({ contact, external_id }) => (contact === undefined) !== (external_id === undefined), {
    error: 'must name a contact: either contact or external_id',
  })
  .meta({ id: 'ContactEvent', unusedIO: 'input' });
export type ContactEventInput = z.output<typeof ContactEventInput>;

/** Result of a batch: valid events are accepted even if others are rejected. */
export const EventIntake = z.object({
  accepted: z.int(),
  repeated: z.int().meta({ description: 'Number of events whose id was already known.' }),
  rejected: z.array(
    z.object({ index: z.int(), code: z.enum(['invalid_request']), message: z.string() }).meta({ id: 'RejectedEvent' }),
  ),
});
