import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { text, timestamp, uuid } from '../core/fields.ts';

/** What somebody wrote, by its kind. */
export const inboundType = z.enum(
  [
    'text',
    'image',
    'video',
    'audio',
    'document',
    'sticker',
    'location',
    'contacts',
    'order',
    'button',
    'interactive',
    'reaction',
    'unsupported',
  ],
  { error: 'must be a type of inbound message, such as text or image' },
);
export type InboundType = z.infer<typeof inboundType>;

/** A file that came with an inbound message; it stays with the provider, which has it by its id. */
export const InboundMedia = z
  .object({ mime_type: z.string(), file_name: z.string().nullable(), provider_id: z.string() })
  .meta({ id: 'InboundMedia' });
export type InboundMedia = z.infer<typeof InboundMedia>;

export const InboundMessage = z
  .object({
    id: z.guid(),
    channel,
    from: z.string().meta({ description: "The sender's address, or the provider's id of somebody who shows none." }),
    type: inboundType.prefault('text'),
    body: z.string().meta({
      description:
        "All text that the sender wrote: a caption, an order's text, a place's name and address, a button's title, a reaction's emoji.",
    }),
    media: InboundMedia.nullable().prefault(null),
    reaction_to: z
      .guid()
      .nullable()
      .prefault(null)
      .meta({ description: 'Our message that a reaction belongs to; null if unknown.' }),
    at: timestamp,
  })
  .meta({ id: 'InboundMessage' });
export type InboundMessage = z.infer<typeof InboundMessage>;

export const InboundInput = z.object({
  channel,
  from: text(254, 1).meta({ description: 'Phone number, email address, or any other id of the sender.' }),
  name: text(200).default('').meta({ description: 'Name of the sender; a new contact gets it.' }),
  type: inboundType.default('text'),
  text: text(4_096).default(''),
  media: z.object({ mime_type: text(255, 1), file_name: text(255).optional(), provider_id: text(500, 1) }).optional(),
  reaction_to: uuid.optional(),
});
