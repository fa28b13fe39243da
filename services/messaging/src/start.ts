import { contactConsumer, restoredContactConsumer, unmergedContactConsumer } from '@customer-platform/contact-copy';
import type * as contract from '@customer-platform/contracts/messaging';
import { createNameResolver, createPoster } from '@customer-platform/outbound';
import { askAs, type Foundation, type ServiceDefinition, WorkQueue } from '@customer-platform/service-kit';
import { deleteChannel } from './channels/delete-channel.ts';
import { listChannels } from './channels/list-channels.ts';
import { probeChannels } from './channels/probe-channels.ts';
import { putChannel } from './channels/put-channel.ts';
import { type MessagingConfig, messagingConfig } from './config.ts';
import type { MessagingResources } from './implement.ts';
import { UnsubscribeLinks } from './links/unsubscribe-links.ts';
import { cancelMessage } from './messages/cancel-message.ts';
import { getMessage } from './messages/get-message.ts';
import { handleFindTroubledAccounts } from './messages/handle-find-troubled-accounts.ts';
import { handleGetConversation } from './messages/handle-get-conversation.ts';
import { handleMeasureMessages } from './messages/handle-measure-messages.ts';
import { handleResendFailedMessages } from './messages/handle-resend-failed-messages.ts';
import { handleTakeMessage } from './messages/handle-take-message.ts';
import { listMessages } from './messages/list-messages.ts';
import { releaseScheduledMessages } from './messages/release-scheduled-messages.ts';
import { resendMessage } from './messages/resend-message.ts';
import { resendMessages } from './messages/resend-messages.ts';
import { runResends } from './messages/run-resends.ts';
import { sendMessage } from './messages/send-message.ts';
import { testChannel } from './messages/test-channel.ts';
import { applyReceipts } from './receipts/apply-receipts.ts';
import { inboundAnnouncement } from './receipts/inbound-announcer.ts';
import { simulateInbound } from './receipts/simulate-inbound.ts';
import { addHook } from './receipts/take-hook.ts';
import { endLostTries, fallBack } from './sending/fall-back.ts';
import { messageSending } from './sending/send-queue.ts';
import { endSuspendedMessages, Suspensions } from './sending/suspended-accounts.ts';
import { getMessageSettings } from './settings/get-settings.ts';
import { updateMessageSettings } from './settings/update-settings.ts';
import { getTemplates } from './templates/get-templates.ts';
import { onConfirmationDue } from './templates/on-confirmation-due.ts';
import { onReminderDue } from './templates/on-reminder-due.ts';
import { updateTemplates } from './templates/update-templates.ts';
import { addUnsubscribe } from './unsubscribe/take-unsubscribe.ts';

/** Sends an account's messages on the first channel that reaches the contact, and receives replies. */
export const messaging: ServiceDefinition<typeof contract, typeof messagingConfig, MessagingResources> = {
  name: 'messaging',
  config: messagingConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: {
    // The first matching path wins, so fixed paths come before those with an id.
    listChannels,
    putChannel,
    deleteChannel,
    testChannel,
    getTemplates,
    updateTemplates,
    getMessageSettings,
    updateMessageSettings,
    resendMessages,
    simulateInbound,
    sendMessage,
    listMessages,
    getMessage,
    cancelMessage,
    resendMessage,
  },
  requests: {
    takeMessage: handleTakeMessage,
    getConversation: handleGetConversation,
    measureMessages: handleMeasureMessages,
    findTroubledAccounts: handleFindTroubledAccounts,
    resendFailedMessages: handleResendFailedMessages,
  },
  addRoutes(app, context) {
    addHook(app, context);
    addUnsubscribe(app, context);
  },
  consumers: [
    contactConsumer,
    restoredContactConsumer('messages'),
    unmergedContactConsumer,
    onConfirmationDue,
    onReminderDue,
  ],
  jobs: [
    probeChannels,
    runResends,
    releaseScheduledMessages,
    fallBack,
    endLostTries,
    endSuspendedMessages,
    applyReceipts,
  ],
  resources: makeResources,
};

/** Maximum bytes kept of a response, because a provider may repeat the whole message. */
const keptBytes = 64 * 1024;

/** Starts the queues and their resources. `stop` lets running calls finish. */
async function makeResources(foundation: Foundation<MessagingConfig>) {
  const { config } = foundation;
  const guard = { allowedRanges: config.WEBHOOKS_ALLOWED_RANGES, resolve: createNameResolver(5_000) };
  const poster = createPoster({
    ...guard,
    timeoutMs: config.MESSAGING_TIMEOUT_MS,
    maxSocketsPerPool: config.MESSAGING_MAX_PER_CHANNEL,
    maxSockets: config.MESSAGING_MAX_IN_FLIGHT * 6,
    keptBytes,
    neverResends: true,
  });
  const shared = {
    secretKeys: config.MESSAGING_SECRET_KEY,
    tools: { poster, guard, twilioUrl: config.MESSAGING_TWILIO_URL, whatsappUrl: config.MESSAGING_WHATSAPP_URL },
    hookUrlOf: (token: string) => `${config.PUBLIC_URL}/hooks/messages/${token}`,
    unsubscribeLinks: new UnsubscribeLinks(config.MESSAGING_SECRET_KEY, config.PUBLIC_URL),
  };
  const context = { ...foundation, ...shared, suspensions: new Suspensions(foundation.accounts) };
  const sending = new WorkQueue(foundation, messageSending(foundation, context));
  const inbound = new WorkQueue(foundation, inboundAnnouncement(foundation));
  return {
    ...shared,
    askFor: (accountId: string) => askAs(foundation.bus, accountId),
    sending,
    inbound,
    async stop() {
      await inbound.stop();
      await sending.stop();
      await poster.close();
    },
  };
}
