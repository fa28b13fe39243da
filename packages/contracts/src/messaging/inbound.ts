import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { text, timestamp, uuid } from '../core/fields.ts';

/** What somebody wrote, by its kind. */
export const inboundType = z
  .enum(
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
  )
  .meta({
    description: 'What was written. `unsupported` is something that WhatsApp does not pass on.',
  });
export type InboundType = z.infer<typeof inboundType>;

/** A file that came with an inbound message; it stays with the provider, which has it by its id. */
export const InboundMedia = z
  .object({
    mime_type: z.string().meta({ description: 'Media type of the file, such as `image/jpeg`.' }),
    file_name: z.string().nullable().meta({ description: 'Name that the sender gave the file; null if it has none.' }),
    provider_id: z.string().meta({ description: "The provider's id of the file; twilio's is its URL." }),
  })
  .meta({ id: 'InboundMedia', description: 'A file that stays with the provider: fetch it there.' });
export type InboundMedia = z.infer<typeof InboundMedia>;

export const InboundMessage = z
  .object({
    id: z.guid().meta({ description: 'The same however often the provider reports the message.' }),
    channel: channel.meta({ description: 'Channel on which it came.' }),
    from: z.string().meta({ description: "The sender's address, or the provider's id of somebody who shows none." }),
    type: inboundType.prefault('text'),
    body: z.string().meta({
      description:
        "All text that the sender wrote: a caption, an order's text, a place's name and address, a button's title, a reaction's emoji.",
    }),
    media: InboundMedia.nullable().prefault(null).meta({
      description: 'File of an image, video, audio, document or sticker; null for any other type.',
    }),
    reaction_to: z.guid().nullable().prefault(null).meta({
      description:
        'Id of the message of this account that a reaction is to; null if it is unknown, or for any other type.',
    }),
    at: timestamp.meta({ description: 'When it was written, by the clock of the provider.' }),
  })
  .meta({ id: 'InboundMessage', description: 'What somebody wrote to the account.' });
export type InboundMessage = z.infer<typeof InboundMessage>;

export const InboundInput = z.object({
  channel: channel.meta({ description: 'Channel on which the sender writes.' }),
  from: text(254, 1).meta({ description: 'Phone number, email address, or any other id of the sender.' }),
  name: text(200).default('').meta({ description: 'Name of the sender; a new contact gets it.' }),
  type: inboundType.default('text'),
  text: text(4_096)
    .default('')
    .meta({ description: '`body` of the message: what was written, a caption, a title or an emoji.' }),
  media: z
    .object({
      mime_type: text(255, 1).meta({ description: InboundMedia.shape.mime_type.description }),
      file_name: text(255).optional().meta({ description: 'Name of the file; default: none.' }),
      provider_id: text(500, 1).meta({ description: 'Any id: there is no file behind it.' }),
    })
    .optional()
    .meta({ description: 'File of an image, video, audio, document or sticker; refused for any other type.' }),
  reaction_to: uuid.optional().meta({
    description: 'Id of the message of this account that a reaction is to; refused for any other type.',
  }),
});
