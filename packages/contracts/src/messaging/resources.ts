import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { WhatsAppTemplate, WhatsAppTemplateInput } from './whatsapp-template.ts';

export const messagePurpose = z.enum(['service', 'marketing'], { error: 'must be service or marketing' }).meta({
  description: '`service` needs no consent. `marketing` is sent only on channels that the contact has consented to.',
});

/** In order: scheduled → queued → sending → sent → delivered → read. A message can also end as failed, cancelled or refused. */
export const messageStatus = z
  .enum(['scheduled', 'queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'refused'])
  .meta({
    description:
      '`sent`: a provider accepted the message. `delivered` and `read` come from its receipts. `refused`: no channel had consent for marketing.',
  });
export type MessageStatus = z.infer<typeof messageStatus>;

const reference = text(100);

function refuseWrongContent(
  step: { channel: string; body: string; template?: unknown },
  context: z.RefinementCtx,
): void {
  const { channel, body, template } = step;
  const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['body'], message });
  if (template === undefined && body === '') refuse('must have at least 1 character, or template must be given');
  if (template !== undefined && body !== '') refuse('must be left out if template is given');
  if (template !== undefined && channel !== 'whatsapp')
    refuse(`must be given for ${channel}: only whatsapp has templates`);
}

/** One channel of a message: its text or template, and the seconds until the next channel is tried. */
export const MessageStep = z
  .object({
    channel: channel.meta({ description: 'It must be set up, except in a sandbox, which has all channels.' }),
    body: text(4_096).default('').meta({ description: 'Text of the message. Leave it out if you give a `template`.' }),
    template: WhatsAppTemplateInput.optional().meta({
      description:
        'WhatsApp only, instead of `body`: a template that Meta approved. Unless the recipient wrote within the last 24 hours, WhatsApp delivers only templates.',
    }),
    subject: text(255).default('').meta({ description: 'Subject of an email.' }),
    fallback_after_seconds: z.int().min(10).max(259_200).default(300).meta({
      description:
        'Seconds to wait for a delivery receipt before the next channel is tried. They begin when the provider accepts the message or fails to respond.',
    }),
  })
  .superRefine(refuseWrongContent)
  .meta({ id: 'MessageStep', description: 'A channel to try, with the content to send on it.' });
export type MessageStep = z.infer<typeof MessageStep>;

function refuseRepeatedChannels(steps: readonly MessageStep[], context: z.RefinementCtx): void {
  const index = steps.findIndex(({ channel }, place) => steps.findIndex((other) => other.channel === channel) < place);
  if (index === -1) return;
  const message = `must not repeat ${steps[index]!.channel}: each channel can be given once`;
  context.addIssue({ code: 'custom', path: [index, 'channel'], message });
}

export const MessageInput = z.object({
  contact: uuid.optional().meta({ description: 'Id of the contact to send to. Give either this or `to`.' }),
  to: text(254, 1)
    .optional()
    .meta({ description: 'Phone number or email address of the recipient. Give either this or `contact`.' }),
  channels: z
    .array(MessageStep)
    .min(1)
    .max(5)
    .superRefine(refuseRepeatedChannels)
    .meta({ description: 'Channels to try, in order. Each channel can be given once.' }),
  reference: reference.optional().meta({ description: 'Your own id for the message, to find it by.' }),
  purpose: messagePurpose
    .default('service')
    .meta({ description: 'A marketing message is sent only if the contact has granted consent for the channel.' }),
  send_at: instant.optional().meta({ description: 'When to send the message; default: now.' }),
});

const error = z
  .object({
    code: z.string().meta({ description: 'Reason of the attempt that ended the message, such as `rejected`.' }),
    message: z.string().meta({ description: 'The reason as a sentence, in the words of the provider if it gave any.' }),
  })
  .meta({ id: 'MessageError', description: 'Why a message failed or was refused.' });

export const Message = z
  .object({
    id: z.guid().meta({ description: 'Id of the message in paths and events.' }),
    reference: z.string().nullable().meta({
      description: 'Your own id. Messages for plans, appointments and orders have one such as `plan-7`. Null if none.',
    }),
    status: messageStatus,
    contact: ContactSummary.nullable().meta({
      description: 'The recipient; after a merge, the surviving contact. Null if the message went to an address.',
    }),
    to: z.string().meta({ description: "The recipient's address on `channel`; empty until it is known." }),
    channel: channel.meta({ description: 'Channel of the attempt that got furthest; on a tie, of the later one.' }),
    purpose: messagePurpose,
    body: z.string().meta({ description: 'Text of the message on `channel`; empty if a template is sent.' }),
    template: WhatsAppTemplate.nullable()
      .prefault(null)
      .meta({ description: 'Template of the message on `channel`; null if a text is sent.' }),
    send_at: timestamp.nullable().meta({ description: 'When to send the message; null: immediately.' }),
    created_at: timestamp,
    sent_at: timestamp.nullable().meta({ description: 'When a provider first accepted it; null if none has.' }),
    delivered_at: timestamp.nullable().meta({
      description: 'When the message reached a device or mailbox, from its receipt; null until one arrives.',
    }),
    read_at: timestamp.nullable().meta({
      description: 'When the recipient opened the message, from its receipt. Not every channel reports this.',
    }),
    failed_at: timestamp.nullable().meta({ description: 'When it became `failed` or `refused`; otherwise null.' }),
    error: error.nullable().meta({ description: 'Why it is `failed` or `refused`; otherwise null.' }),
  })
  .meta({ id: 'Message', description: 'A message to one person, sent on the first of its channels that works.' });
export type Message = z.infer<typeof Message>;

/** In order: sending → sent → delivered → read. An attempt can also end as failed, skipped or unknown. */
export const attemptStatus = z.enum(['sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'unknown']).meta({
  description:
    '`skipped`: no provider was called. `unknown`: the provider did not respond and may have sent the message, so there is no retry.',
});
export type AttemptStatus = z.infer<typeof attemptStatus>;

/** Reasons why an attempt did not reach the recipient. */
export const attemptReason = z
  .enum([
    'not_set_up',
    'no_address',
    'no_consent',
    'outside_window',
    'too_late',
    'opted_out',
    'channel_failing',
    'rejected',
    'unavailable',
    'no_answer',
    'undelivered',
    'not_needed',
    'account_suspended',
  ])
  .meta({
    description: '`not_needed`: the message was delivered or canceled before. The guide to messages explains each.',
  });
export type AttemptReason = z.infer<typeof attemptReason>;

export const receiptStatus = z
  .enum(['sent', 'delivered', 'read', 'failed'])
  .meta({ description: 'Status that the provider reported.' });
export type ReceiptStatus = z.infer<typeof receiptStatus>;

export const MessageAttempt = z
  .object({
    number: z.int().meta({ description: 'Number of the attempt, from 1, in the order of the channels.' }),
    channel: channel.meta({ description: 'Channel that was tried.' }),
    provider: z.string().meta({
      description: "The channel's provider at the time; `simulated` in a sandbox, empty if there was none.",
    }),
    status: attemptStatus,
    reason: attemptReason.nullable().meta({
      description: 'Why the attempt failed, was skipped or has an unknown outcome; otherwise null.',
    }),
    provider_id: z.string().nullable().meta({ description: "The provider's id of the message; null if it gave none." }),
    started_at: timestamp.meta({ description: 'When the provider was first called, or when the channel was skipped.' }),
    finished_at: timestamp
      .nullable()
      .meta({ description: 'When the provider responded, or when the attempt ended without a response.' }),
    receipts: z
      .array(
        z
          .object({
            status: receiptStatus,
            at: timestamp.meta({ description: "When it happened, by the provider's clock." }),
            applied: z.boolean().meta({ description: 'Whether it changed the status; a late receipt does not.' }),
          })
          .meta({ id: 'MessageReceipt', description: 'A report from a provider about an attempt.' }),
      )
      .meta({ description: 'Receipts in the order of their arrival, at most one for each status.' }),
  })
  .meta({ id: 'MessageAttempt', description: 'An attempt to send a message on one of its channels.' });
export type MessageAttempt = z.infer<typeof MessageAttempt>;

/** A message with every attempt, as in its events. */
export const MessageWithAttempts = Message.extend({
  attempts: z.array(MessageAttempt).meta({ description: 'Attempts that have begun or were skipped, in order.' }),
}).meta({
  id: 'MessageWithAttempts',
  description: 'A message with every attempt.',
});
export type MessageWithAttempts = z.infer<typeof MessageWithAttempts>;

/** A webhook delivery about a message. */
export const MessageWebhook = z
  .object({
    delivery: z.guid().meta({ description: 'Id of the delivery.' }),
    endpoint: z.guid().meta({ description: 'Id of the webhook endpoint.' }),
    event: z.string().meta({ description: 'Kind of the event, such as `message.delivered`.' }),
    status: z.string().meta({ description: '`pending`, `delivered`, `failed` or `skipped`.' }),
    at: timestamp.meta({ description: 'When it was last attempted, or created if there was no attempt.' }),
    response_status: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the latest response; null if there was none.' }),
  })
  .meta({ id: 'MessageWebhook', description: 'A webhook delivery about the message.' });

export const MessageDetail = MessageWithAttempts.extend({
  webhooks: z.array(MessageWebhook).meta({ description: 'Webhook deliveries about the message, oldest first.' }),
  webhooks_unavailable: z
    .boolean()
    .meta({ description: 'True if the webhook deliveries could not be read. All other fields are complete.' }),
}).meta({ id: 'MessageDetail', description: 'A message with every attempt, and the webhook deliveries about it.' });
export type MessageDetail = z.infer<typeof MessageDetail>;

export const messagePath = z.object({ message_id: uuid.meta({ description: 'Id of a message.' }) });
