import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { eventsOf, previous } from '../core/event.ts';
import { timestamp } from '../core/fields.ts';
import { MessageWithAttempts } from './resources.ts';

const { publicEvent } = eventsOf('messaging');
const changed = z.object({ message: MessageWithAttempts, previous });

/** A provider took it. */
export const messageSent = publicEvent('message.sent', changed);
export const messageDelivered = publicEvent('message.delivered', changed);
export const messageRead = publicEvent('message.read', changed);
/** It reached nobody on any of its channels, or nobody who had granted it: its status is failed or refused. */
export const messageFailed = publicEvent('message.failed', changed);

/** A contact wrote. */
export const messageReceived = publicEvent(
  'message.received',
  z.object({
    message: z.object({ id: z.guid(), channel, from: z.string(), body: z.string(), at: timestamp }),
    contact: ContactSummary,
  }),
);
