import { lenaSummary } from '../cdp/examples.ts';
import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type { MessageChannel } from './channels.ts';
import type * as events from './events.ts';
import type * as operations from './operations.ts';
import type { Message, MessageAttempt, MessageStatus, MessageWithAttempts } from './resources.ts';
import type { MessageSettings } from './settings.ts';
import type { Templates } from './templates.ts';

const text = 'Dear Lena, your shampoo is ready for you. Until soon, Salon Aurora';

const queued: Message = {
  id: '019a9ca0-4c6e-7d95-8a91-a2b3c4d5e6f0',
  reference: 'order-118',
  status: 'queued',
  contact: lenaSummary,
  to: lenaSummary.phone,
  channel: 'whatsapp',
  purpose: 'service',
  body: text,
  template: null,
  send_at: null,
  created_at: '2025-11-18T09:02:20+01:00',
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  error: null,
};
const times = {
  sent_at: '2025-11-18T09:02:21+01:00',
  delivered_at: '2025-11-18T09:02:23+01:00',
  read_at: '2025-11-18T09:10:40+01:00',
};

/** Lena's message when it has been delivered. */
export const delivered: Message = {
  ...queued,
  status: 'delivered',
  sent_at: times.sent_at,
  delivered_at: times.delivered_at,
};

const attempt: MessageAttempt = {
  number: 1,
  channel: 'whatsapp',
  provider: 'whatsapp_cloud',
  status: 'delivered',
  reason: null,
  provider_id: 'wamid.HBgMNDkzMDIzMTI1MTAxFQIAERgS',
  started_at: '2025-11-18T09:02:20+01:00',
  finished_at: times.sent_at,
  receipts: [{ status: 'delivered', at: times.delivered_at, applied: true }],
};
const sent: MessageAttempt = { ...attempt, status: 'sent', receipts: [] };
const [deliveredReceipt] = attempt.receipts;

/** Returns a message with its only attempt, as in its events. */
const withAttempt = (message: Message, last: MessageAttempt): MessageWithAttempts => ({ ...message, attempts: [last] });
const previousStatus = (status: MessageStatus) => ({ status });

const channel: MessageChannel = {
  channel: 'email',
  provider: 'smtp',
  settings: {
    host: 'smtp.salon-aurora.example',
    port: 587,
    security: 'starttls',
    username: 'salon',
    from: 'hello@salon-aurora.example',
  },
  status: 'ready',
  error: null,
  failing_since: null,
  hook_url: 'https://api.example.com/hooks/messages/4bC9tq0VvZ8fGm2sLx7Yd1Rn6KwHjPaE',
  created_at: '2025-09-14T15:00:00+02:00',
  updated_at: '2025-09-14T15:00:00+02:00',
};

const templates: Templates = {
  appointment_booked: {
    subject: 'Your appointment on {{date}}',
    body: 'Dear {{contact_name}}, {{staff_name}} looks forward to seeing you on {{date}} at {{time}}.',
    whatsapp: {
      name: 'appointment_confirmation',
      language: 'en',
      parameters: ['{{contact_name}}', '{{date}}', '{{time}}'],
    },
    is_default: false,
  },
  appointment_rescheduled: {
    subject: 'Your appointment has changed: {{date}}',
    body: 'Your appointment with {{account_name}} has changed. It is now:\n{{title}}, {{date}} at {{time}}\n{{location}}\n{{meeting_link}}',
    whatsapp: null,
    is_default: true,
  },
  appointment_reminder: {
    subject: 'Reminder: your appointment on {{date}}',
    body: 'A reminder of your appointment with {{account_name}}:\n{{title}}, {{date}} at {{time}}\n{{location}}\n{{meeting_link}}',
    whatsapp: null,
    is_default: true,
  },
};

const settings: MessageSettings = { automatic: { fallback: ['sms', 'email'], fallback_after_seconds: 3_600 } };

const failing = {
  channel: 'whatsapp',
  provider: 'whatsapp_cloud',
  error: 'WhatsApp responded with 401: Error validating access token: the session has expired. (190)',
  since: '2025-11-18T09:02:20+01:00',
} as const;

export const messagingExamples: ExamplesOf<typeof operations> = {
  listMessages: { response: onePage(delivered) },
  sendMessage: {
    body: {
      contact: lenaSummary.id,
      channels: [
        { channel: 'whatsapp', body: text, fallback_after_seconds: 600 },
        { channel: 'email', subject: 'Your order is ready', body: text },
      ],
      reference: 'order-118',
    },
    response: queued,
  },
  getMessage: {
    response: {
      ...withAttempt(delivered, attempt),
      webhooks_unavailable: false,
      webhooks: [
        {
          delivery: '019a9ca1-0d7f-7ea6-9ba2-b3c4d5e6f700',
          endpoint: '019a9cb0-5d7f-7ea6-8ba2-b3c4d5e6f810',
          event: 'message.delivered',
          status: 'delivered',
          at: '2025-11-18T09:02:24+01:00',
          response_status: 204,
        },
      ],
    },
  },
  cancelMessage: { response: { ...queued, status: 'cancelled' } },
  listChannels: { response: onePage(channel) },
  putChannel: {
    body: { provider: 'smtp', settings: { ...channel.settings, password: 'correct horse battery staple' } },
    response: channel,
  },
  testChannel: {
    body: { to: 'lena@example.com' },
    response: {
      ...queued,
      id: '019a9cb2-1d7f-7ea6-8ba2-b3c4d5e6f822',
      reference: null,
      contact: null,
      to: 'lena@example.com',
      channel: 'email',
      body: 'This is a test message from Salon Aurora.',
    },
  },
  getTemplates: { response: templates },
  updateTemplates: {
    body: {
      appointment_booked: {
        body: templates.appointment_booked.body,
        whatsapp: templates.appointment_booked.whatsapp,
      },
    },
    response: templates,
  },
  getMessageSettings: { response: settings },
  updateMessageSettings: { body: { automatic: { fallback: ['sms', 'email'] } }, response: settings },
  resendMessages: { body: { since: '2025-11-18T09:00:00+01:00', code: 'channel_failing' }, response: { matched: 25 } },
  resendMessage: { response: { ...queued, id: '019a9cb3-2d7f-7ea6-8ba2-b3c4d5e6f833' } },
  simulateInbound: {
    body: { channel: 'whatsapp', from: lenaSummary.phone, text: 'Do you also sell the conditioner?' },
    response: { id: '019a9ca2-77b1-7fb7-8cb3-c4d5e6f70810' },
  },
};

export const messagingEventExamples: EventExamplesOf<typeof events> = {
  messageSent: {
    message: withAttempt({ ...queued, status: 'sent', sent_at: times.sent_at }, sent),
    previous: previousStatus('sending'),
  },
  messageDelivered: { message: withAttempt(delivered, attempt), previous: previousStatus('sent') },
  messageRead: {
    message: withAttempt(
      { ...delivered, status: 'read', read_at: times.read_at },
      {
        ...attempt,
        status: 'read',
        receipts: [deliveredReceipt!, { status: 'read', at: times.read_at, applied: true }],
      },
    ),
    previous: previousStatus('delivered'),
  },
  messageFailed: {
    message: withAttempt(
      {
        ...queued,
        status: 'failed',
        failed_at: times.sent_at,
        error: { code: 'rejected', message: 'The provider refused the message: not a WhatsApp number.' },
      },
      { ...sent, status: 'failed', reason: 'rejected', provider_id: null },
    ),
    previous: previousStatus('sending'),
  },
  messageReceived: {
    message: {
      id: '019a9ca2-77b1-7fb7-8cb3-c4d5e6f70810',
      channel: 'whatsapp',
      from: lenaSummary.phone,
      type: 'text',
      body: 'Do you also sell the conditioner?',
      media: null,
      reaction_to: null,
      at: '2025-11-18T09:12:03+01:00',
    },
    contact: lenaSummary,
  },
  channelFailing: failing,
  channelRecovered: { ...failing, error: null, since: '2025-11-18T09:14:05+01:00' },
};
