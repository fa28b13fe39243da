import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { WhatsAppTemplate, WhatsAppTemplateInput } from './whatsapp-template.ts';

export const messagePurpose = z.enum(['service', 'marketing'], { error: 'must be service or marketing' });

/** scheduled → queued → sending → sent → delivered → read; otherwise it ends failed, cancelled or refused. */
export const messageStatus = z.enum([
  'scheduled',
  'queued',
  'sending',
  'sent',
  'delivered',
  'read',
  'failed',
  'cancelled',
  'refused',
]);
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
    channel,
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
  .meta({ id: 'MessageStep' });
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
    message: z.string(),
  })
  .meta({ id: 'MessageError' });

export const Message = z
  .object({
    id: z.guid(),
    reference: z.string().nullable(),
    status: messageStatus,
    contact: ContactSummary.nullable(),
    to: z.string().meta({ description: 'Address on `channel`; empty until known.' }),
    channel: channel.meta({ description: 'Channel of the attempt that got furthest; of equals, the later one.' }),
    purpose: messagePurpose,
    body: z.string().meta({ description: 'Text of the message on `channel`; empty where it has a template.' }),
    template: WhatsAppTemplate.nullable().prefault(null).meta({ description: 'Template of the message on `channel`.' }),
    send_at: timestamp.nullable(),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
    read_at: timestamp.nullable(),
    failed_at: timestamp.nullable(),
    error: error.nullable(),
  })
  .meta({ id: 'Message' });
export type Message = z.infer<typeof Message>;

/** sending → sent → delivered → read; or failed, skipped, or unknown if the provider did not respond. */
export const attemptStatus = z.enum(['sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'unknown']);
export type AttemptStatus = z.infer<typeof attemptStatus>;

/** Reasons why an attempt reached nobody. */
export const attemptReason = z.enum([
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
]);
export type AttemptReason = z.infer<typeof attemptReason>;

export const receiptStatus = z.enum(['sent', 'delivered', 'read', 'failed']);
export type ReceiptStatus = z.infer<typeof receiptStatus>;

export const MessageAttempt = z
  .object({
    number: z.int(),
    channel,
    provider: z.string(),
    status: attemptStatus,
    reason: attemptReason.nullable(),
    provider_id: z.string().nullable().meta({ description: "The provider's id of the message." }),
    started_at: timestamp,
    finished_at: timestamp.nullable().meta({ description: 'When the provider responded.' }),
    receipts: z.array(
      z
        .object({
          status: receiptStatus,
          at: timestamp,
          applied: z.boolean().meta({ description: 'Whether it changed the status; a late receipt does not.' }),
        })
        .meta({ id: 'MessageReceipt' }),
    ),
  })
  .meta({ id: 'MessageAttempt' });
export type MessageAttempt = z.infer<typeof MessageAttempt>;

/** A message with every attempt, as its events carry it. */
export const MessageWithAttempts = Message.extend({ attempts: z.array(MessageAttempt) }).meta({
  id: 'MessageWithAttempts',
});
export type MessageWithAttempts = z.infer<typeof MessageWithAttempts>;

/** A webhook delivery about a message. */
export const ToldEndpoint = z
  .object({
    delivery: z.guid(),
    endpoint: z.guid(),
    event: z.string(),
    status: z.string(),
    at: timestamp,
    response_status: z.int().nullable(),
  })
  .meta({ id: 'MessageWebhook' });

export const MessageDetail = MessageWithAttempts.extend({
  webhooks: z.array(ToldEndpoint).meta({ description: 'Webhook deliveries about the message, oldest first.' }),
  webhooks_unavailable: z
    .boolean()
    .meta({ description: 'Whether the webhook deliveries could not be read; everything else is complete.' }),
}).meta({ id: 'MessageDetail' });
export type MessageDetail = z.infer<typeof MessageDetail>;

export const messagePath = z.object({ message_id: uuid });
