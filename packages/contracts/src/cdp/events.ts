import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { eventsOf, previous } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
import { Audience } from './audiences.ts';
import { consentPurpose, consentState } from './consents.ts';
import { Contact, ContactSummary } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('cdp');

export const contactCreated = publicEvent(
  'contact.created',
  z.object({ contact: Contact }),
  'A contact was created through the API, or because an unknown person wrote.',
);
export const contactUpdated = publicEvent(
  'contact.updated',
  z.object({ contact: Contact.meta({ description: 'The contact after the change.' }), previous }),
  'Values of a contact changed.',
);
export const contactMerged = publicEvent(
  'contact.merged',
  z.object({
    contact: Contact.meta({ description: 'The surviving contact after the merge.' }),
    merged: ContactSummary.meta({ description: 'The contact that was merged into it, as it was before the merge.' }),
    previous,
  }),
  'Two contacts were merged into one. The id of `merged` now refers to `contact`.',
);

export const contactUnmerged = publicEvent(
  'contact.unmerged',
  z.object({
    contact: Contact.meta({ description: 'The surviving contact, without the values that it got from the merge.' }),
    restored: Contact.meta({ description: 'The contact that had been merged into it.' }),
  }),
  'A merge was undone. `contact` lost the values that it got from the merge, and `restored` is a separate contact again.',
);

/**
 * Internal form of `contact.unmerged` for modules that hold contacts, emitted before it. Anything that they created for `restored` between
 * `merged_at` and this event, because they did not know of the merge yet, belongs to the survivor.
 */
export const contactRestored = internalEvent(
  'contact.restored',
  z.object({ survivor: z.guid(), restored: z.guid(), merged_at: z.iso.datetime() }),
);

const audience = z.object({
  audience: Audience.pick({ id: true, name: true }).meta({
    description: 'The audience that the contact entered or left.',
  }),
  contact: ContactSummary.meta({ description: 'The contact that entered or left.' }),
});

export const audienceReady = publicEvent(
  'audience.ready',
  z.object({ audience: Audience.meta({ description: 'The audience after the computation.' }), previous }),
  "An audience's members were computed after its creation, a change of its rules, or a refresh.",
);
export const audienceFailed = publicEvent(
  'audience.failed',
  z.object({ audience: Audience.meta({ description: 'The audience. Its `error` says what went wrong.' }), previous }),
  "An audience's members could not be computed. Its `error` says why.",
);
export const audienceEntered = publicEvent(
  'audience.entered',
  audience,
  'A contact became a member of an audience. Also sent for each member found by the first computation, and for a surviving contact that replaces a merged member.',
);
export const audienceLeft = publicEvent(
  'audience.left',
  audience,
  'A contact is no longer a member of an audience, for example because it was deleted or merged.',
);

export const contactDeleted = publicEvent(
  'contact.deleted',
  z.object({
    contact: Contact.pick({ id: true, number: true, external_id: true }).meta({
      description: 'The ids of the deleted contact.',
    }),
  }),
  'A contact was deleted with all its customer data.',
);
/** Internal form of `contact.deleted` for other modules: nothing new can refer to their copies of the contact. */
export const contactForgotten = internalEvent('contact.deleted', z.object({ contact: ContactSummary }));

/**
 * Returns a contact by id; after a merge, the surviving contact; null if there is none. After a merge, `merged` has at most 1,000 ids, from
 * the given id on: each was merged into the next. The last was merged into the surviving contact, unless the list was cut off.
 */
export const getContactSummary = internalRequest(
  'getContactSummary',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: ContactSummary.nullable(), merged: z.array(z.guid()).optional() }),
);

/** Returns a whole contact, with times in UTC; null if there is none. After a merge, returns the surviving contact. */
export const getContactProfile = internalRequest(
  'getContactProfile',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: Contact.nullable() }),
);

/**
 * Returns a contact's address on a channel and its latest consent for a purpose there. Each is null if there is none. After a merge, both
 * are from the surviving contact.
 */
export const getContactReach = internalRequest(
  'getContactReach',
  'cdp',
  z.object({ contact: z.guid(), channel, purpose: consentPurpose }),
  z.object({ address: z.string().nullable(), consent: consentState.nullable() }),
);

/**
 * Returns the contact `known`, its survivor if merged, or else the oldest contact with the email or phone. The phone is E.164 and matches
 * every form of the number. Without a match, creates a contact with `name` and the id `new_id`, so that a repeated request creates no other.
 */
export const findOrCreateContact = internalRequest(
  'findOrCreateContact',
  'cdp',
  z.object({
    phone: z.string().optional(),
    email: z.string().optional(),
    name: z.string(),
    known: z.guid().optional(),
    new_id: z.guid().optional(),
  }),
  z.object({ contact: ContactSummary }),
);

/**
 * Records that a contact opted out of marketing on a channel at `at`, or opted in again. `granted` restores only consent that keywords alone
 * withdrew before `at`. Returns whether it is recorded. A repeated request with the same `at` records nothing more and gets the same reply.
 */
export const recordOptOut = internalRequest(
  'recordOptOut',
  'cdp',
  z.object({
    contact: z.guid(),
    channel,
    state: consentState,
    source: z.enum(['keyword', 'unsubscribe']),
    at: z.iso.datetime(),
  }),
  z.object({ changed: z.boolean() }),
);
