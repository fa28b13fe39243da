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
export const messageFailed = publicEvent(
  'message.failed',
  changed,
  'A message did not arrive on any of its channels (`failed`), or no channel had consent (`refused`).',
);

export const messageReceived = publicEvent(
  'message.received',
  z.object({
    message: InboundMessage,
    contact: ContactSummary,
    opt_out: z
      .literal(true)
      .optional()
      .meta({ description: 'Present if the text was a word such as STOP, which withdraws consent for marketing.' }),
    opt_in: z.literal(true).optional().meta({
      description: 'Present if the text was a word such as START, which restores consent after such a word.',
    }),
  }),
  'A person sent a message to the account. An unknown sender becomes a contact first.',
);

/** A provider refused a message because the contact had opted out there before `at`, by a word such as STOP. */
export const messageOptedOut = internalEvent(
  'message.opted_out',
  z.object({ contact: z.guid(), channel, at: z.iso.datetime() }),
);

const channelState = MessageChannel.pick({ channel: true, provider: true, error: true }).extend({
  since: timestamp.meta({ description: 'When the channel began to fail, or became ready again.' }),
});
export const channelFailing = publicEvent(
  'channel.failing',
  channelState,
  'A provider refused the credentials of a channel. Messages wait until the channel is set up again or the provider accepts one.',
);
export const channelRecovered = publicEvent(
  'channel.recovered',
  channelState,
  'A failing channel is ready again. The messages that waited on it are sent.',
);
