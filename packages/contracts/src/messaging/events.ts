import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { eventsOf, previous } from '../core/event.ts';
import { timestamp } from '../core/fields.ts';
import { MessageChannel } from './channels.ts';
import { InboundMessage } from './inbound.ts';
import { MessageWithAttempts } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('messaging');
const changed = z.object({ message: MessageWithAttempts, previous });

/** A provider accepted the message. */
export const messageSent = publicEvent('message.sent', changed, 'A provider accepted a message.');
export const messageDelivered = publicEvent(
  'message.delivered',
  changed,
  'A provider reported that a message reached the recipient’s device or mailbox.',
);
export const messageRead = publicEvent(
  'message.read',
  changed,
  'A provider reported that the recipient opened a message. Not every channel reports it.',
);
/** The message reached nobody on any channel (failed), or no channel had consent (refused). */
export const messageFailed = publicEvent(
  'message.failed',
  changed,
  'A message reached nobody on any of its channels (status failed), or no channel had consent (refused).',
);

/** A contact sent a message. */
export const messageReceived = publicEvent(
  'message.received',
  z.object({
    message: InboundMessage,
    contact: ContactSummary,
    opt_out: z
      .literal(true)
      .optional()
      .meta({ description: 'Present if the text was a word such as STOP: the consent for marketing is withdrawn.' }),
    opt_in: z
      .literal(true)
      .optional()
      .meta({ description: 'Present if the text was a word such as START, which grants what such a word withdrew.' }),
  }),
  'Somebody wrote to the account; an unknown sender becomes a contact first.',
);

/** A provider took no message for a contact, who had told it by a word such as STOP, before `at`, to send no more on a channel. */
export const messageOptedOut = internalEvent(
  'message.opted_out',
  z.object({ contact: z.guid(), channel, at: z.iso.datetime() }),
);

const channelState = MessageChannel.pick({ channel: true, provider: true, error: true }).extend({
  since: timestamp.meta({ description: 'Since when the channel has been failing, or ready again.' }),
});
export const channelFailing = publicEvent(
  'channel.failing',
  channelState,
  'A provider refused the credentials of a channel: messages wait on it until it is set up again or the provider takes one.',
);
export const channelRecovered = publicEvent(
  'channel.recovered',
  channelState,
  'A channel that was failing is ready again, and what waited on it is sent.',
);
