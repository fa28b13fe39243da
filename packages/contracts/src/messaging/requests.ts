import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { timestamp } from '../core/fields.ts';
import { changeError, internalRequest } from '../core/request.ts';

/**
 * Stores a message to a contact, to be sent on `channel`. `key` makes the request idempotent: the caller repeats it until a reply
 * arrives. It is refused only if `needs_channel` is set and the channel is not set up. Any other message that cannot be sent fails
 * later.
 */
export const takeMessage = internalRequest(
  'takeMessage',
  'messaging',
  z.object({
    key: z.guid(),
    contact: z.guid(),
    channel,
    body: z.string(),
    reference: z.string().meta({ description: 'Reference by which people find the message.' }),
    reply_to: z.guid().optional().meta({
      description:
        'Id of the inbound message to reply to. The reply goes to the address of its sender if the channel can reach it.',
    }),
    needs_channel: z.boolean().default(false),
    is_automatic: z.boolean().default(false).meta({
      description: 'The message is automatic: the fallback channels of the message settings follow.',
    }),
  }),
  z.object({
    message: z.guid().nullable(),
    refusal: z.string().nullable().meta({ description: 'Why no message was stored.' }),
  }),
);

/**
 * Returns the last `limit` messages from and to a contact, oldest first, with their times in UTC. `channels` are set up; a sandbox needs
 * none. The contact wrote on the channels in `written_on`, so it can be answered there even without an address.
 */
export const getConversation = internalRequest(
  'getConversation',
  'messaging',
  z.object({ contact: z.guid(), limit: z.int().min(1).max(50) }),
  z.object({
    messages: z.array(
      z.object({ id: z.guid(), direction: z.enum(['in', 'out']), channel, body: z.string(), at: timestamp }),
    ),
    channels: z.array(channel),
    written_on: z.array(channel).default([]),
  }),
);

/** A group of an account's failed or refused messages with the same channel and reason. */
const failedMessages = z.object({
  channel,
  code: z.string(),
  count: z.int(),
  last_at: z.iso.datetime(),
  last_error: z.string(),
});

/**
 * Returns an account's channels and its failures: messages that failed or were refused in the last 24 hours and were not sent again.
 * Failures are grouped in at most 100 groups, largest first. Only the newest 10,000 are counted.
 */
export const measureMessages = internalRequest(
  'measureMessages',
  'messaging',
  z.object({ account: z.guid() }),
  z.object({
    failed: z.array(failedMessages),
    channels: z.array(
      z.object({
        channel,
        provider: z.string(),
        status: z.enum(['ready', 'failing']),
        error: z.string().nullable(),
        // Optional: processes of the previous release leave out both.
        failing_since: z.iso.datetime().nullable().optional(),
        held: z.int().optional(),
      }),
    ),
  }),
);

/**
 * Returns the failing channels of all accounts, longest failing first, and the accounts with more than `failed` failures, at most 100 of each.
 * A failure is a message that failed or was refused in the last hour and was not sent again. Live accounts come first, then those with the most failures.
 */
export const findTroubledAccounts = internalRequest(
  'findTroubledAccounts',
  'messaging',
  z.object({ failed: z.int() }),
  z.object({
    channels: z.array(
      z.object({
        account: z.guid(),
        channel,
        provider: z.string(),
        error: z.string().nullable(),
        failing_since: z.iso.datetime(),
      }),
    ),
    accounts: z.array(z.object({ account: z.guid(), failed: z.int() })),
  }),
);

/** Sends an account's failed messages of a period again, under the rules of POST /v1/messages/resend. */
export const resendFailedMessages = internalRequest(
  'resendFailedMessages',
  'messaging',
  z.object({ since: z.iso.datetime(), until: z.iso.datetime().optional(), code: z.string().optional() }),
  z.object({ matched: z.int(), refusal: changeError }),
);
