import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { timestamp } from '../core/fields.ts';
import { changeRefusal, internalRequest } from '../core/request.ts';

/**
 * Stores a message to a contact, to be sent on one channel. `key` makes it idempotent: a caller without a reply repeats the request
 * until it has one. Refused only if `needs_channel` is set and the channel is not set up; otherwise a message that cannot be sent fails
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
    reference: z.string().meta({ description: 'Reference by which people can find the message.' }),
    reply_to: z.guid().optional().meta({
      description:
        'Id of the inbound message it replies to; the reply goes to the address that message came from, if the channel can reach it.',
    }),
    needs_channel: z.boolean().default(false),
    is_automatic: z.boolean().default(false).meta({
      description: 'The platform sends it on its own: channels follow as the message settings say.',
    }),
  }),
  z.object({
    message: z.guid().nullable(),
    refusal: z.string().nullable().meta({ description: 'Why no message was stored.' }),
  }),
);

/**
 * Returns the last messages from and to a contact, at most 50, oldest first, with their times in UTC, the channels that are set up
 * (a sandbox needs none), and those on which the contact wrote: there it can be answered, whatever addresses it has.
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

/** Messages of an account that failed or were refused, by channel and reason. */
const failedMessages = z.object({
  channel,
  code: z.string(),
  count: z.int(),
  last_at: z.iso.datetime(),
  last_error: z.string(),
});

/**
 * Returns what failed of an account's messages in the last 24 hours and was not sent again, most first, 100 at most, and its channels. Of more than 50,000
 * messages the newest are counted.
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
        // Processes of the release before do not say these two.
        failing_since: z.iso.datetime().nullable().optional(),
        held: z.int().optional(),
      }),
    ),
  }),
);

/**
 * Returns, over all accounts, the channels that are failing, longest first, and the accounts with more than `failed` messages that failed in the last hour and
 * were not sent again, live ones first, most first; 100 of each.
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

/** Sends an account's failed messages of a period again, as its customer can. */
export const resendFailedMessages = internalRequest(
  'resendFailedMessages',
  'messaging',
  z.object({ since: z.iso.datetime(), until: z.iso.datetime().optional(), code: z.string().optional() }),
  z.object({ matched: z.int(), refusal: changeRefusal }),
);
