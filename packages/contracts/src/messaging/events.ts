import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { eventsOf, previous } from '../core/event.ts';
import { timestamp } from '../core/fields.ts';
import { MessageWithAttempts } from './resources.ts';

const { publicEvent } = eventsOf('messaging');
const changed = z.object({ message: MessageWithAttempts, previous });

/** A provider accepted the message. */
export const messageSent = publicEvent('message.sent', changed);
export const messageDelivered = publicEvent('message.delivered', changed);
export const messageRead = publicEvent('message.read', changed);
/** The message reached nobody on any channel (failed), or no channel had consent (refused). */
export const messageFailed = publicEvent('message.failed', changed);

/** A contact sent a message. */
export const messageReceived = publicEvent(
  'message.received',
  z.object({
    message: z.object({ id: z.guid(), channel, from: z.string(), body: z.string(), at: timestamp }),
    contact: ContactSummary,
  }),
);
