import { z } from 'zod';
import { instant, text, uuid } from '../core/fields.ts';

/** Name of a contact's event. The platform's own event kinds are names too. */
export const eventName = text(100, 1).meta({
  description: 'Name of the event. Events of the platform have their kind as the name, such as `order.created`.',
  examples: ['cart.abandoned'],
});

/** An event of a contact in the body of POST /v1/cdp/events. */
export const ContactEventInput = z
  .object({
    id: text(200, 1)
      .optional()
      .meta({ description: 'Id, unique in the account. An event with a known id is ignored. Default: a new id.' }),
    contact: uuid.optional().meta({ description: 'Id of the contact. Give either this or `external_id`.' }),
    external_id: text(200, 1).optional().meta({
      description: 'Instead of `contact`: an external id. The oldest contact with it counts.',
    }),
    name: eventName,
    at: instant.optional().meta({ description: 'When the event happened, at most 5 minutes ahead; default: now.' }),
    properties: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ description: 'Details of the event, in any form. Audience rules do not read them.' }),
  })
  .refine(({ contact, external_id }) => (contact === undefined) !== (external_id === undefined), {
    error: 'must have either contact or external_id, not both',
  })
  .meta({ id: 'ContactEvent', unusedIO: 'input' });
export type ContactEventInput = z.output<typeof ContactEventInput>;

/** Result of a batch. Valid events are accepted even if others are rejected. */
export const EventIntake = z.object({
  accepted: z.int().meta({ description: 'Number of events that were recorded.' }),
  repeated: z.int().meta({ description: 'Number of events whose id was already known.' }),
  rejected: z
    .array(
      z
        .object({
          index: z.int().meta({ description: 'Position of the event in the request, from 0.' }),
          code: z.enum(['invalid_request']).meta({ description: 'Error code, as in error responses.' }),
          message: z.string().meta({ description: 'What is wrong with the event, as a sentence.' }),
        })
        .meta({ id: 'RejectedEvent' }),
    )
    .meta({ description: 'The events that were not recorded, in the order of the request.' }),
});
