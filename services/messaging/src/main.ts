import { contactConsumer } from '@customer-platform/contact-copy';
import { runProcess, type ServiceDefinition, startService } from '@customer-platform/service-kit';
import { deleteChannel } from './channels/delete-channel.ts';
import { listChannels } from './channels/list-channels.ts';
import { putChannel } from './channels/put-channel.ts';
import { answerGetConversation } from './messages/answer-get-conversation.ts';
import { answerTakeMessage } from './messages/answer-take-message.ts';
import { cancelMessage } from './messages/cancel-message.ts';
import { getMessage } from './messages/get-message.ts';
import { listMessages } from './messages/list-messages.ts';
import { releaseScheduledMessages } from './messages/release-scheduled-messages.ts';
import { sendMessage } from './messages/send-message.ts';
import { applyReceipts } from './receipts/apply-receipts.ts';
import { takeHook } from './receipts/take-hook.ts';
import { type MessagingResources, makeResources, messagingConfig } from './resources.ts';
import { endLostTries, fallBack } from './sending/fall-back.ts';
import { endSuspendedMessages } from './sending/suspended-accounts.ts';
import { getTemplates } from './templates/get-templates.ts';
import { onConfirmationDue } from './templates/on-confirmation-due.ts';
import { onReminderDue } from './templates/on-reminder-due.ts';
import { updateTemplates } from './templates/update-templates.ts';

/** Messages: sends what an account has to say on the first channel that reaches its customer, and takes what they answer. */
export const messaging: ServiceDefinition<typeof messagingConfig, MessagingResources> = {
  name: 'messaging',
  config: messagingConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: [
    // What is fixed in a path before what is any id.
    ...[listChannels, putChannel, deleteChannel],
    ...[getTemplates, updateTemplates],
    ...[sendMessage, listMessages, getMessage, cancelMessage],
  ],
  requests: [answerTakeMessage, answerGetConversation],
  hooks: [takeHook],
  consumers: [contactConsumer, onConfirmationDue, onReminderDue],
  jobs: [releaseScheduledMessages, fallBack, endLostTries, endSuspendedMessages, applyReceipts],
  resources: makeResources,
};

if (import.meta.main) await runProcess(() => startService(messaging, process.env));
