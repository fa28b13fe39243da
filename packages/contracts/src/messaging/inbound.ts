import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { text, timestamp, uuid } from '../core/fields.ts';

/** Type of an inbound message. */
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
    description: 'Type of the message. `unsupported`: WhatsApp does not pass on the content.',
  });
export type InboundType = z.infer<typeof inboundType>;

/** A file of an inbound message. Only the provider stores it, under `provider_id`. */
export const InboundMedia = z
  .object({
    mime_type: z.string().meta({ description: 'Media type of the file, such as `image/jpeg`.' }),
    file_name: z.string().nullable().meta({ description: 'Name that the sender gave the file; null if it has none.' }),
    provider_id: z.string().meta({ description: "The provider's id of the file; for twilio, its URL." }),
  })
  .meta({ id: 'InboundMedia', description: 'A file that only the provider stores; fetch it there.' });
export type InboundMedia = z.infer<typeof InboundMedia>;

export const InboundMessage = z
  .object({
    id: z.guid().meta({ description: 'Id of the message, the same each time the provider reports it.' }),
    channel: channel.meta({ description: 'Channel on which the message arrived.' }),
    from: z.string().meta({ description: "The sender's address, or the provider's id of a sender who shows none." }),
    type: inboundType.prefault('text'),
    body: z.string().meta({
      description:
        "All text of the message. For other types: a caption, an order's text, a place's name and address, a button's title or a reaction's emoji.",
    }),
    media: InboundMedia.nullable().prefault(null).meta({
      description: 'File of an image, video, audio, document or sticker; null for any other type.',
    }),
    reaction_to: z.guid().nullable().prefault(null).meta({
      description:
        "Id of this account's message that a reaction refers to. Null if it is unknown, or for any other type.",
    }),
    at: timestamp.meta({ description: "When it was written, by the provider's clock." }),
  })
  .meta({ id: 'InboundMessage', description: 'A message that a person sent to the account.' });
export type InboundMessage = z.infer<typeof InboundMessage>;

export const InboundInput = z.object({
  channel: channel.meta({ description: 'Channel on which the sender writes.' }),
  from: text(254, 1).meta({ description: 'Phone number, email address, or any other id of the sender.' }),
  name: text(200).default('').meta({ description: 'Name of the sender, which a new contact gets.' }),
  type: inboundType.default('text'),
  text: text(4_096)
    .default('')
    .meta({ description: '`body` of the message: its text, a caption, a title or an emoji.' }),
  media: z
    .object({
      mime_type: text(255, 1).meta({ description: InboundMedia.shape.mime_type.description }),
      file_name: text(255).optional().meta({ description: 'Name of the file; default: none.' }),
      provider_id: text(500, 1).meta({ description: 'Any id; no file needs to exist.' }),
    })
    .optional()
    .meta({ description: 'File of an image, video, audio, document or sticker; refused for any other type.' }),
  reaction_to: uuid.optional().meta({
    description: "Id of this account's message that a reaction refers to. Refused for any other type.",
  }),
});
