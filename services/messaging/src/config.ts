import { allowedRangesSetting, parsed, parseSecretKeys } from '@customer-platform/outbound';
import { baseConfig } from '@customer-platform/service-kit';
import { z } from 'zod';

const url = (fallback: string, description: string) =>
  z
    .url({ protocol: /^https?$/ })
    .default(fallback)
    .transform(withoutSlashesAtEnd)
    .meta({ description });

function withoutSlashesAtEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** A duration such as 90s, 30m or 1h, parsed to ms. */
const duration = (fallback: string, description: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,5}[smh]$/, { error: 'must be a duration such as 90s, 30m or 1h' })
    .default(fallback)
    .transform(
      (text) => Number(text.slice(0, -1)) * { s: 1_000, m: 60_000, h: 3_600_000 }[text.slice(-1) as 's' | 'm' | 'h'],
    )
    .meta({ description });

export const messagingConfig = baseConfig.extend({
  MESSAGING_SECRET_KEY: parsed(parseSecretKeys).meta({
    description:
      'Encrypts channel settings and signs unsubscribe links: base64 of 32 bytes. To rotate it, set 2:<new>,1:<old>. Links signed with a removed key stop working.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  PUBLIC_URL: url(
    'http://127.0.0.1:8080',
    'Address at which providers and recipients reach the gateway. hook_url and unsubscribe links begin with it.',
  ),
  MESSAGING_TIMEOUT_MS: z.coerce.number().int().min(100).max(15_000).default(15_000).meta({
    description: 'Deadline of one provider call, in milliseconds.',
  }),
  MESSAGING_MAX_PER_CHANNEL: z.coerce.number().int().min(1).max(500).default(32).meta({
    description:
      'Maximum calls in flight of one account on one channel, per process. The limit grows as the provider responds.',
  }),
  MESSAGING_MAX_IN_FLIGHT: z.coerce.number().int().min(1).max(2_000).default(256).meta({
    description:
      'Maximum calls in flight that began less than 1 s ago. All calls together: at most four times as many.',
  }),
  MESSAGING_CHANNEL_HOLD: duration(
    '1h',
    'Maximum time that a message waits on a channel whose credentials are refused, in milliseconds or such as 1h.',
  ),
  MESSAGING_TWILIO_URL: url('https://api.twilio.com', "The address of Twilio's API."),
  MESSAGING_WHATSAPP_URL: url('https://graph.facebook.com', "The address of Meta's Graph API."),
});
export type MessagingConfig = z.output<typeof messagingConfig>;
