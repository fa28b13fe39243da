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
  description: 'Returns messages, newest first. A message must match every filter given.',
  query: z.object({
    ...pageQuery,
    reference: z.string().optional().meta({ description: 'Only messages with exactly this reference.' }),
    status: messageStatus.optional().meta({ description: 'Only messages with this status.' }),
    contact: uuid.optional().meta({
      description: 'Only messages to the contact with this id, or to contacts merged into it.',
    }),
    q: text(200, 1).optional().meta({ description: 'Part of a reference, address or contact name, ignoring case.' }),
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
    'Stores the message and sends it immediately or at `send_at`. If a channel fails, or no receipt confirms delivery in time, the next channel is tried.',
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
  description:
    'Replaces all settings and sends waiting messages. A secret that is left out is kept if the provider and the login that it belongs to, such as `host` and `username`, stay the same.',
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
  description: 'Deletes the channel with its settings. Messages that wait on it continue on their next channel.',
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
    "Sends a short test text in the account's language, on this channel only. It is a normal message with an attempt, receipts and events. Set the channel up first; a sandbox has every channel.",
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
  description: 'Returns the texts of automatic messages, and their templates for WhatsApp.',
  status: 200,
  response: Templates,
  errors: [],
});

export const updateTemplates = operation('updateTemplates', {
  method: 'PATCH',
  path: '/v1/messages/templates',
  scope: write,
  summary: 'Update the message templates',
  description: 'Texts that are left out stay as they are. Null restores the defaults of a text.',
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
  description: 'Returns how the platform sends automatic messages.',
  status: 200,
  response: MessageSettings,
  errors: [],
});

export const updateMessageSettings = operation('updateMessageSettings', {
  method: 'PATCH',
  path: '/v1/messages/settings',
  scope: write,
  summary: 'Update the message settings',
  description: 'Changes how automatic messages are sent, but not messages that already exist.',
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
    'Resends the messages that failed in a period, in the background. Each becomes a new message, unless it was resent before. At most 10 requests of an account run at once; one more is refused with 409 invalid_state.',
  body: z.object({
    since: instant.meta({ description: 'Start of the period in which the messages failed, at most 7 days ago.' }),
    until: instant.optional().meta({ description: 'End of the period, exclusive; default: now.' }),
    code: text(50, 1).optional().meta({ description: 'Only messages with this `error.code`.' }),
  }),
  status: 202,
  response: z.object({
    matched: z.int().meta({ description: 'Number of messages that will be resent; 100,000 if there are more.' }),
  }),
  errors: ['invalid_state'],
});

export const resendMessage = operation('resendMessage', {
  method: 'POST',
  path: '/v1/messages/{message_id}/resend',
  scope: write,
  summary: 'Resend a message',
  description:
    'Sends a failed message again, as a new message with the same content and recipient. Every call sends another message, even if the message was resent before.',
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
  description: 'Creates an inbound message in a sandbox, as if a provider had reported it. A live key gets 404.',
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
  description: 'Cancels a message that is `scheduled` or `queued`. A canceled message stays as it is.',
  params: messagePath,
  status: 200,
  response: Message,
  errors: ['not_found', 'invalid_state'],
});
