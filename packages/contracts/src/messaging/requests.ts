import { z } from 'zod';
import { internalRequest } from '../core/request.ts';
import { channel } from './channel.ts';

/**
 * Hands a message to a contact over, to be sent on one channel. `key` is the caller's own: asked again with it, nothing more
 * is sent, so that an asker who got no answer asks until it has one.
 */
export const takeMessage = internalRequest(
  'takeMessage',
  'messaging',
  z.object({
    key: z.guid(),
    contact: z.guid(),
    channel,
    body: z.string(),
    reference: z.string().meta({ description: 'What it is about, for people to find it by.' }),
  }),
  z.object({ message: z.guid() }),
);
