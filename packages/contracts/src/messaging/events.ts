import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { eventsOf, previous } from '../core/event.ts';
import { timestamp } from '../core/fields.ts';
import { MessageWithAttempts } from './resources.ts';

const { publicEvent } = eventsOf('messaging');
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
    message: z.object({ id: z.guid(), channel, from: z.string(), body: z.string(), at: timestamp }),
    contact: ContactSummary,
  }),
  'Somebody wrote to the account; an unknown sender becomes a contact first.',
);
