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
      'Encrypts the settings of channels, and signs links to unsubscribe: base64 of 32 bytes; to rotate, 2:<new>,1:<old>. Without the old key its links end.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  PUBLIC_URL: url(
    'http://127.0.0.1:8080',
    'Where providers and recipients reach the gateway: the beginning of hook_url, and of links to unsubscribe.',
  ),
  MESSAGING_TIMEOUT_MS: z.coerce.number().int().min(100).max(15_000).default(15_000).meta({
    description: 'One deadline over a call of a provider.',
  }),
  MESSAGING_MAX_PER_CHANNEL: z.coerce.number().int().min(1).max(500).default(32).meta({
    description:
      'Calls under way at most of one account on one channel, in one process; a provider earns them by responding.',
  }),
  MESSAGING_MAX_IN_FLIGHT: z.coerce.number().int().min(1).max(2_000).default(256).meta({
    description: 'Calls under way at most that began within the last second; four times as many in all.',
  }),
  MESSAGING_CHANNEL_HOLD: duration(
    '1h',
    'How long a message waits at most on a channel whose credentials are refused.',
  ),
  MESSAGING_TWILIO_URL: url('https://api.twilio.com', "The address of Twilio's API."),
  MESSAGING_WHATSAPP_URL: url('https://graph.facebook.com', "The address of Meta's Graph API."),
});
export type MessagingConfig = z.output<typeof messagingConfig>;
