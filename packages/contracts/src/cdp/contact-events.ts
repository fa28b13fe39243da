import { z } from 'zod';
import { instant, text, uuid } from '../core/fields.ts';

/** Name of a contact's event; the platform's own event kinds are such names too. */
export const eventName = text(100, 1).meta({
  description: "Name of the event. The platform's own events of a contact have their kind, such as `order.created`.",
  examples: ['cart.abandoned'],
});

/** An event of a contact in the body of POST /v1/cdp/events. */
export const ContactEventInput = z
  .object({
    id: text(200, 1)
      .optional()
      .meta({ description: 'Unique in the account: an event whose id is known is ignored. Default: a new id.' }),
    contact: uuid.optional().meta({ description: 'Id of the contact; either this or `external_id` is required.' }),
    external_id: text(200, 1)
      .optional()
      .meta({ description: 'Instead of `contact`: names the oldest contact with this external id.' }),
    name: eventName,
    at: instant.optional().meta({ description: 'When it happened; default: now, at most 5 minutes ahead.' }),
    properties: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ description: 'Details of the event, of any shape. Audience rules do not read them.' }),
  })
  .refine(({ contact, external_id }) => (contact === undefined) !== (external_id === undefined), {
    error: 'must name a contact: either contact or external_id',
  })
  .meta({ id: 'ContactEvent', unusedIO: 'input' });
export type ContactEventInput = z.output<typeof ContactEventInput>;

/** Result of a batch: valid events are accepted even if others are rejected. */
export const EventIntake = z.object({
  accepted: z.int().meta({ description: 'Number of events that were recorded.' }),
  repeated: z.int().meta({ description: 'Number of events whose id was already known.' }),
  rejected: z
    .array(
      z
        .object({
          index: z.int().meta({ description: 'Place of the event in the request, from 0.' }),
          code: z.enum(['invalid_request']).meta({ description: 'Error code, as in error responses.' }),
          message: z.string().meta({ description: 'What is wrong with the event, as a sentence.' }),
        })
        .meta({ id: 'RejectedEvent' }),
    )
    .meta({ description: 'The events that were not recorded, in the order of the request.' }),
});
