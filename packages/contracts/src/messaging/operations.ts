import { z } from 'zod';
import { uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { ChannelInput, channelPath, MessageChannel } from './channels.ts';
import { Message, MessageDetail, MessageInput, messagePath, messageStatus } from './resources.ts';
import { Templates, TemplatesChange } from './templates.ts';

const operation = operationsOf('messaging', null);
const read = 'messages:read';
const write = 'messages:write';

export const listMessages = operation('listMessages', {
  method: 'GET',
  path: '/v1/messages',
  scope: read,
  summary: 'Lists messages, newest first',
  query: z.object({
    ...pageQuery,
    reference: z.string().optional().meta({ description: 'Exactly this one.' }),
    status: messageStatus.optional(),
    contact: uuid.optional(),
    q: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .meta({ description: "Part of a reference, a number or the contact's name, in any case." }),
  }),
  status: 200,
  answer: pageOf(Message),
  errors: [],
});

export const sendMessage = operation('sendMessage', {
  method: 'POST',
  path: '/v1/messages',
  scope: write,
  summary: 'Sends a message',
  description:
    'Taken once it is stored; it is sent at once or at `send_at`. A channel that fails, or on which nobody is reached in time, is followed by the next.',
  body: MessageInput,
  status: 202,
  answer: Message,
  errors: [],
});

export const listChannels = operation('listChannels', {
  method: 'GET',
  path: '/v1/messages/channels',
  scope: read,
  summary: 'Lists the channels that are set up',
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(MessageChannel),
  errors: [],
});

export const putChannel = operation('putChannel', {
  method: 'PUT',
  path: '/v1/messages/channels/{channel}',
  scope: write,
  summary: 'Sets a channel up, or anew',
  description: 'The settings are replaced whole, but a secret that is left out stays while the provider does.',
  params: channelPath,
  body: ChannelInput,
  status: 200,
  answer: MessageChannel,
  answersSecret: true,
  errors: [],
});

export const deleteChannel = operation('deleteChannel', {
  method: 'DELETE',
  path: '/v1/messages/channels/{channel}',
  scope: write,
  summary: 'Takes a channel down; what waits on it goes on to its next channel',
  params: channelPath,
  status: 204,
  errors: ['not_found'],
});

export const getTemplates = operation('getTemplates', {
  method: 'GET',
  path: '/v1/messages/templates',
  scope: read,
  summary: 'Reads the texts of the messages that the platform sends by itself',
  status: 200,
  answer: Templates,
  errors: [],
});

export const updateTemplates = operation('updateTemplates', {
  method: 'PATCH',
  path: '/v1/messages/templates',
  scope: write,
  summary: 'Changes these texts; null brings the default back',
  body: TemplatesChange,
  status: 200,
  answer: Templates,
  errors: [],
});

export const getMessage = operation('getMessage', {
  method: 'GET',
  path: '/v1/messages/{message_id}',
  scope: read,
  summary: 'Reads a message with every attempt and what webhooks were told about it',
  params: messagePath,
  status: 200,
  answer: MessageDetail,
  errors: ['not_found'],
});

export const cancelMessage = operation('cancelMessage', {
  method: 'POST',
  path: '/v1/messages/{message_id}/cancel',
  scope: write,
  summary: 'Cancels a message that is scheduled or queued',
  params: messagePath,
  status: 200,
  answer: Message,
  errors: ['not_found', 'invalid_state'],
});
