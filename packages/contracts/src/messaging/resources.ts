import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { WhatsAppTemplate, WhatsAppTemplateInput } from './whatsapp-template.ts';

export const messagePurpose = z.enum(['service', 'marketing'], { error: 'must be service or marketing' }).meta({
  description: '`service` needs no consent. `marketing` is sent only on channels for which the contact has granted it.',
});

/** scheduled → queued → sending → sent → delivered → read; otherwise it ends failed, cancelled or refused. */
export const messageStatus = z
  .enum(['scheduled', 'queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'refused'])
  .meta({
    description:
      '`sent`: a provider accepted it; `delivered` and `read` follow by its receipts. `refused`: marketing without consent.',
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

/** One channel of a message: its text there, or its template, and the time until the next channel is tried. */
export const MessageStep = z
  .object({
    channel: channel.meta({ description: 'Must be set up; in a sandbox all are.' }),
    body: text(4_096).default('').meta({ description: 'Text; left out where `template` is given.' }),
    template: WhatsAppTemplateInput.optional().meta({
      description:
        'WhatsApp only, instead of `body`: a template that Meta approved. Outside of 24 hours after the recipient last wrote, WhatsApp delivers nothing else.',
    }),
    subject: text(255).default('').meta({ description: 'Subject of an email.' }),
    fallback_after_seconds: z.int().min(10).max(259_200).default(300).meta({
      description:
        'Seconds after which the next channel is tried if this one accepted the message but did not reach anyone.',
    }),
  })
  .superRefine(refuseWrongContent)
  .meta({ id: 'MessageStep', description: 'A channel to try, with what to send on it.' });
export type MessageStep = z.infer<typeof MessageStep>;

function refuseRepeatedChannels(steps: readonly MessageStep[], context: z.RefinementCtx): void {
  const index = steps.findIndex(({ channel }, place) => steps.findIndex((other) => other.channel === channel) < place);
  if (index === -1) return;
  const message = `must not be ${steps[index]!.channel} again: each channel is tried once`;
  context.addIssue({ code: 'custom', path: [index, 'channel'], message });
}

export const MessageInput = z.object({
  contact: uuid.optional().meta({ description: 'Id of the recipient; give this or `to`.' }),
  to: text(254, 1)
    .optional()
    .meta({ description: 'Phone number or email address of the recipient; give this or `contact`.' }),
  channels: z
    .array(MessageStep)
    .min(1)
    .max(5)
    .superRefine(refuseRepeatedChannels)
    .meta({ description: 'Channels to try, in order; each channel at most once.' }),
  reference: reference.optional().meta({ description: 'Your own id or word for the message, to find it by.' }),
  purpose: messagePurpose
    .default('service')
    .meta({ description: 'A marketing message is sent only if the contact has granted consent for the channel.' }),
  send_at: instant.optional().meta({ description: 'When to send it; default: now.' }),
});

const error = z
  .object({
    code: z.string().meta({ description: 'Reason of the attempt that ended the message.' }),
    message: z.string().meta({ description: 'The same in words, those of the provider if it gave any.' }),
  })
  .meta({ id: 'MessageError', description: 'Why a message reached nobody.' });

export const Message = z
  .object({
    id: z.guid().meta({ description: 'Names the message in paths and events.' }),
    reference: z.string().nullable().meta({
      description: 'Your own id or word for it; of a plan, an appointment or an order such as `plan-7`. Null if none.',
    }),
    status: messageStatus,
    contact: ContactSummary.nullable().meta({
      description: 'The recipient, the surviving contact if merged; null for a message to an address alone.',
    }),
    to: z.string().meta({ description: 'Address on `channel`; empty until known.' }),
    channel: channel.meta({ description: 'Channel of the attempt that got furthest; of equals, the later one.' }),
    purpose: messagePurpose,
    body: z.string().meta({ description: 'Text of the message on `channel`; empty where it has a template.' }),
    template: WhatsAppTemplate.nullable()
      .prefault(null)
      .meta({ description: 'Template of the message on `channel`; null where it has a text.' }),
    send_at: timestamp.nullable().meta({ description: 'When it is to be sent; null: immediately.' }),
    created_at: timestamp,
    sent_at: timestamp.nullable().meta({ description: 'When a provider first accepted it; null if none has.' }),
    delivered_at: timestamp.nullable().meta({
      description: 'When it reached a device or mailbox, by the receipt; null while no receipt says so.',
    }),
    read_at: timestamp.nullable().meta({
      description: 'When it was opened, by the receipt; not every channel reports it.',
    }),
    failed_at: timestamp.nullable().meta({ description: 'When it ended `failed` or `refused`; otherwise null.' }),
    error: error.nullable().meta({ description: 'Why it ended `failed` or `refused`; otherwise null.' }),
  })
  .meta({ id: 'Message', description: 'A message to one person, on the first of its channels that works.' });
export type Message = z.infer<typeof Message>;

/** sending → sent → delivered → read; or failed, skipped, or unknown if the provider did not respond. */
export const attemptStatus = z.enum(['sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'unknown']).meta({
  description:
    '`skipped` called no provider. `unknown`: the provider did not respond, and may have sent it; there is no retry.',
});
export type AttemptStatus = z.infer<typeof attemptStatus>;

/** Reasons why an attempt reached nobody. */
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
    description: '`not_needed`: the message had arrived or was cancelled. The guide to sending messages explains each.',
  });
export type AttemptReason = z.infer<typeof attemptReason>;

export const receiptStatus = z
  .enum(['sent', 'delivered', 'read', 'failed'])
  .meta({ description: 'What the provider reported.' });
export type ReceiptStatus = z.infer<typeof receiptStatus>;

export const MessageAttempt = z
  .object({
    number: z.int().meta({ description: 'Counts up from 1, in the order of the channels.' }),
    channel: channel.meta({ description: 'Channel that was tried.' }),
    provider: z.string().meta({
      description: "The channel's provider at that time; `simulated` in a sandbox, empty if there was none.",
    }),
    status: attemptStatus,
    reason: attemptReason.nullable().meta({
      description: 'Why it failed, was skipped, or has an unknown outcome; null otherwise.',
    }),
    provider_id: z.string().nullable().meta({ description: "The provider's id of the message." }),
    started_at: timestamp.meta({ description: 'When the provider was first called, or the channel skipped.' }),
    finished_at: timestamp
      .nullable()
      .meta({ description: 'When the provider responded, or the attempt ended without it.' }),
    receipts: z
      .array(
        z
          .object({
            status: receiptStatus,
            at: timestamp.meta({ description: 'When it happened, by the clock of the provider.' }),
            applied: z.boolean().meta({ description: 'Whether it changed the status; a late receipt does not.' }),
          })
          .meta({ id: 'MessageReceipt', description: 'What a provider reported about an attempt.' }),
      )
      .meta({ description: 'Receipts in the order in which they arrived, one for each status.' }),
  })
  .meta({ id: 'MessageAttempt', description: 'A message on one of its channels.' });
export type MessageAttempt = z.infer<typeof MessageAttempt>;

/** A message with every attempt, as its events carry it. */
export const MessageWithAttempts = Message.extend({
  attempts: z.array(MessageAttempt).meta({ description: 'The channels that were tried or skipped, first to last.' }),
}).meta({
  id: 'MessageWithAttempts',
  description: 'A message with every attempt.',
});
export type MessageWithAttempts = z.infer<typeof MessageWithAttempts>;

/** A webhook delivery about a message. */
export const ToldEndpoint = z
  .object({
    delivery: z.guid().meta({ description: 'Id of the delivery.' }),
    endpoint: z.guid().meta({ description: 'Id of the webhook endpoint.' }),
    event: z.string().meta({ description: 'Kind of the event, such as `message.delivered`.' }),
    status: z.string().meta({ description: '`pending`, `delivered`, `failed` or `skipped`.' }),
    at: timestamp.meta({ description: 'When it was last tried, or created if it has not been.' }),
    response_status: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the latest response; null if there was none.' }),
  })
  .meta({ id: 'MessageWebhook', description: 'A webhook delivery about the message.' });

export const MessageDetail = MessageWithAttempts.extend({
  webhooks: z.array(ToldEndpoint).meta({ description: 'Webhook deliveries about the message, oldest first.' }),
  webhooks_unavailable: z
    .boolean()
    .meta({ description: 'True if the webhook deliveries could not be read; everything else is complete.' }),
}).meta({ id: 'MessageDetail', description: 'A message with every attempt, and the webhook deliveries about it.' });
export type MessageDetail = z.infer<typeof MessageDetail>;

export const messagePath = z.object({ message_id: uuid.meta({ description: 'Id of a message.' }) });
