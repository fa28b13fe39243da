import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { clearable } from '../core/fields.ts';

const fallback = z
  .array(channel)
  .refine((channels) => new Set(channels).size === channels.length, { error: 'must name each channel once' });
const seconds = z.int().min(10).max(259_200);

/** How automatic messages are sent: confirmations, reminders and order declines. */
const AutomaticMessages = z
  .object({
    fallback: fallback.meta({
      description:
        'Channels to try, in order, after the channel of the booking or order. Channels that are not set up are left out.',
    }),
    fallback_after_seconds: seconds.meta({
      description:
        'Seconds to wait for a delivery receipt before the next channel is tried. Without receipts, as with smtp, only a failure leads to the next channel.',
    }),
  })
  .meta({ id: 'AutomaticMessages', description: 'How confirmations, reminders and order declines are sent.' });

export const MessageSettings = z
  .object({ automatic: AutomaticMessages })
  .meta({ id: 'MessageSettings', description: 'How the platform sends automatic messages.' });
export type MessageSettings = z.infer<typeof MessageSettings>;

export const defaultMessageSettings: MessageSettings = {
  automatic: { fallback: ['sms', 'email'], fallback_after_seconds: 3_600 },
};

export const MessageSettingsChange = z.object({
  automatic: z
    .object({
      fallback: clearable(fallback, defaultMessageSettings.automatic.fallback).meta({
        description: 'Channels to try, in order, after the channel of the booking or order. Null: `sms`, then `email`.',
      }),
      fallback_after_seconds: seconds.optional().meta({
        description: AutomaticMessages.shape.fallback_after_seconds.description,
      }),
    })
    .meta({ id: 'AutomaticMessagesChange', description: 'Settings to change; those left out stay as they are.' })
    .optional(),
});
