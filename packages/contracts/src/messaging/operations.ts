import { z } from 'zod';
import { instant, text, uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { ChannelInput, ChannelTest, channelPath, MessageChannel } from './channels.ts';
import { channelRecovered } from './events.ts';
import { InboundInput } from './inbound.ts';
import { Message, MessageDetail, MessageInput, messagePath, messageStatus } from './resources.ts';
import { MessageSettings, MessageSettingsChange } from './settings.ts';
import { Templates, TemplatesChange } from './templates.ts';

const operation = operationsOf('messaging', null);
const read = 'messages:read';
const write = 'messages:write';

export const listMessages = operation('listMessages', {
  method: 'GET',
  path: '/v1/messages',
  scope: read,
  summary: 'List messages',
  description: 'Newest first. A message is listed if it matches every filter given.',
  query: z.object({
    ...pageQuery,
    reference: z.string().optional().meta({ description: 'Only messages with exactly this reference.' }),
    status: messageStatus.optional().meta({ description: 'Only messages with this status.' }),
    contact: uuid.optional().meta({
      description: 'Only messages to the contact with this id, and to contacts merged into it.',
    }),
    q: text(200, 1)
      .optional()
      .meta({ description: "Part of a reference, a number or the contact's name, ignoring case." }),
  }),
  status: 200,
  response: pageOf(Message),
  errors: [],
});

export const sendMessage = operation('sendMessage', {
  method: 'POST',
  path: '/v1/messages',
  clientName: 'messages.send',
  scope: write,
  summary: 'Send a message',
  description:
    'Responds once the message is stored; it is sent immediately or at `send_at`. If a channel fails or does not reach anyone in time, the next one is tried.',
  body: MessageInput,
  status: 202,
  response: Message,
  errors: [],
});

export const listChannels = operation('listChannels', {
  method: 'GET',
  path: '/v1/messages/channels',
  scope: read,
  summary: 'List channels',
  description: 'Returns the channels that are set up.',
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(MessageChannel),
  errors: [],
});

export const putChannel = operation('putChannel', {
  method: 'PUT',
  path: '/v1/messages/channels/{channel}',
  scope: write,
  summary: 'Set up a channel',
  description: 'Replaces all settings. A secret that is left out is kept as long as the provider stays the same.',
  params: channelPath,
  body: ChannelInput,
  status: 200,
  response: MessageChannel,
  respondsWithSecret: true,
  errors: ['not_found'],
  emits: [channelRecovered],
});

export const deleteChannel = operation('deleteChannel', {
  method: 'DELETE',
  path: '/v1/messages/channels/{channel}',
  scope: write,
  summary: 'Delete a channel',
  description: 'Messages waiting on it continue on their next channel.',
  params: channelPath,
  status: 204,
  errors: ['not_found'],
});

export const testChannel = operation('testChannel', {
  method: 'POST',
  path: '/v1/messages/channels/{channel}/test',
  scope: write,
  summary: 'Send a test message',
  description:
    "Sends a short text that says it is a test, in the account's language, on this channel alone. It is a message like any other, with its attempt, receipts and events. Set the channel up first; in a sandbox every channel is there.",
  params: channelPath,
  body: ChannelTest,
  status: 202,
  response: Message,
  errors: ['not_found'],
});

export const getTemplates = operation('getTemplates', {
  method: 'GET',
  path: '/v1/messages/templates',
  scope: read,
  summary: 'Retrieve the message templates',
  description:
    'The texts of messages that the platform sends on its own, and the templates that WhatsApp sends them by.',
  status: 200,
  response: Templates,
  errors: [],
});

export const updateTemplates = operation('updateTemplates', {
  method: 'PATCH',
  path: '/v1/messages/templates',
  scope: write,
  summary: 'Update the message templates',
  description: 'A text that is left out stays as it is; null restores its default.',
  body: TemplatesChange,
  status: 200,
  response: Templates,
  errors: [],
});

export const getMessageSettings = operation('getMessageSettings', {
  method: 'GET',
  path: '/v1/messages/settings',
  scope: read,
  summary: 'Retrieve the message settings',
  description: 'How messages go out that the platform sends on its own.',
  status: 200,
  response: MessageSettings,
  errors: [],
});

export const updateMessageSettings = operation('updateMessageSettings', {
  method: 'PATCH',
  path: '/v1/messages/settings',
  scope: write,
  summary: 'Update the message settings',
  description: 'Applies to messages that are made from now on.',
  body: MessageSettingsChange,
  status: 200,
  response: MessageSettings,
  errors: [],
});

export const resendMessages = operation('resendMessages', {
  method: 'POST',
  path: '/v1/messages/resend',
  clientName: 'messages.resendFailed',
  scope: write,
  summary: 'Resend failed messages',
  description:
    'Sends the messages again that failed in a period, each as a new message and at most once, in the background.',
  body: z.object({
    since: instant.meta({ description: 'Start of the period in which they failed: at most 7 days ago.' }),
    until: instant.optional().meta({ description: 'End of the period, exclusive; default: now.' }),
    code: text(50, 1).optional().meta({ description: 'Only messages whose `error.code` is this.' }),
  }),
  status: 202,
  response: z.object({
    matched: z.int().meta({ description: 'Messages that will be sent again; 100,000 where there are more.' }),
  }),
  errors: ['invalid_state'],
});

export const resendMessage = operation('resendMessage', {
  method: 'POST',
  path: '/v1/messages/{message_id}/resend',
  scope: write,
  summary: 'Resend a message',
  description: 'Sends the content of a failed message again, as a new message to the same recipient.',
  params: messagePath,
  status: 202,
  response: Message,
  errors: ['not_found', 'invalid_state'],
});

export const simulateInbound = operation('simulateInbound', {
  method: 'POST',
  path: '/v1/sandbox/inbound',
  clientName: 'sandbox.simulateInbound',
  scope: write,
  summary: 'Simulate an inbound message',
  description: 'Makes an inbound message in a sandbox, as if a provider had sent it. A live key gets 404.',
  body: InboundInput,
  status: 202,
  response: z.object({ id: z.guid().meta({ description: 'Id of the inbound message, as in message.received.' }) }),
  errors: ['not_found'],
});

export const getMessage = operation('getMessage', {
  method: 'GET',
  path: '/v1/messages/{message_id}',
  scope: read,
  summary: 'Retrieve a message',
  description: 'Returns the message with every attempt and the webhook deliveries about it.',
  params: messagePath,
  status: 200,
  response: MessageDetail,
  errors: ['not_found'],
});

export const cancelMessage = operation('cancelMessage', {
  method: 'POST',
  path: '/v1/messages/{message_id}/cancel',
  scope: write,
  summary: 'Cancel a message',
  description: 'The message must be scheduled or queued.',
  params: messagePath,
  status: 200,
  response: Message,
  errors: ['not_found', 'invalid_state'],
});
