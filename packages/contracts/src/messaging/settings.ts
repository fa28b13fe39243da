import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { clearable } from '../core/fields.ts';

const fallback = z
  .array(channel)
  .refine((channels) => new Set(channels).size === channels.length, { error: 'must name each channel once' });
const seconds = z.int().min(10).max(259_200);

/** How messages go out that the platform sends on its own: confirmations, reminders and declined orders. */
const AutomaticMessages = z
  .object({
    fallback: fallback.meta({
      description:
        'Channels that follow the one that the booking or the order names, in order; those that are not set up are passed over.',
    }),
    fallback_after_seconds: seconds.meta({
      description:
        'Seconds after which the next channel is tried if one accepted the message but did not reach anyone.',
    }),
  })
  .meta({ id: 'AutomaticMessages', description: 'How confirmations, reminders and declined orders are sent.' });

export const MessageSettings = z
  .object({ automatic: AutomaticMessages })
  .meta({ id: 'MessageSettings', description: 'How messages go out that the platform sends on its own.' });
export type MessageSettings = z.infer<typeof MessageSettings>;

export const defaultMessageSettings: MessageSettings = {
  automatic: { fallback: ['sms', 'email'], fallback_after_seconds: 3_600 },
};

export const MessageSettingsChange = z.object({
  automatic: z
    .object({
      fallback: clearable(fallback, defaultMessageSettings.automatic.fallback).meta({
        description: 'Channels to try after the one of the booking or order, in order; null: `sms`, then `email`.',
      }),
      fallback_after_seconds: seconds.optional().meta({
        description: AutomaticMessages.shape.fallback_after_seconds.description,
      }),
    })
    .meta({ id: 'AutomaticMessagesChange', description: 'What to change; the rest stays as it is.' })
    .optional(),
});
