import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { text, timestamp } from '../core/fields.ts';

const provider = text(50, 1).meta({
  description: 'Provider: smtp (email), twilio (sms, whatsapp), whatsapp_cloud (whatsapp) or http (any channel).',
  examples: ['smtp', 'twilio', 'whatsapp_cloud', 'http'],
});

export const ChannelInput = z.object({
  provider,
  settings: z.record(z.string(), z.unknown()).meta({
    description:
      'Settings by provider. smtp: host, port, security (starttls, tls, none), username, password, from. twilio: account_sid, auth_token, from. whatsapp_cloud: phone_number_id, access_token, app_secret, verify_token. http: url, secret.',
  }),
});

export const ChannelTest = z.object({
  to: text(254, 1).meta({ description: 'Phone number or email address of the recipient.' }),
});

export const MessageChannel = z
  .object({
    channel: channel.meta({ description: 'The channel. An account has one provider for each channel.' }),
    provider,
    settings: z
      .record(z.string(), z.unknown())
      .meta({ description: 'Settings without secrets. A generated secret of the provider http is returned once.' }),
    status: z.enum(['ready', 'failing']).meta({
      description: '`failing`: the provider refuses the credentials. Messages wait; one per minute is attempted.',
    }),
    error: z.string().nullable().meta({ description: "The provider's response; null while the channel is ready." }),
    failing_since: timestamp.nullable().meta({
      description: 'When the provider first refused the credentials; null while the channel is ready.',
    }),
    hook_url: z.string().meta({ description: 'URL to which the provider sends receipts and inbound messages.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'MessageChannel', description: 'A channel with the provider that sends its messages.' });
export type MessageChannel = z.infer<typeof MessageChannel>;

export const channelPath = z.object({
  channel: channel.meta({ description: 'The channel: `whatsapp`, `sms` or `email`.' }),
});
