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
  'A contact was created: through the API, or because an unknown person wrote.',
);
export const contactUpdated = publicEvent(
  'contact.updated',
  z.object({ contact: Contact.meta({ description: 'The contact after the change.' }), previous }),
  'Fields of a contact changed.',
);
export const contactMerged = publicEvent(
  'contact.merged',
  z.object({
    contact: Contact.meta({ description: 'The surviving contact after the merge.' }),
    merged: ContactSummary.meta({ description: 'The contact that was merged into it, as it was before.' }),
    previous,
  }),
  'Two contacts were merged into one: the id of `merged` refers to `contact` from now on.',
);

/** A merge was undone: `contact` is the survivor without what the merge gave it, `restored` a contact of its own again. */
export const contactUnmerged = publicEvent(
  'contact.unmerged',
  z.object({
    contact: Contact.meta({ description: 'The surviving contact, without what the merge gave it.' }),
    restored: Contact.meta({ description: 'The contact that was merged into it.' }),
  }),
  'A merge was undone: `contact` gave back what the merge gave it, `restored` is a contact of its own again.',
);

/**
 * The same for modules that hold contacts, told before it: what they made for `restored` between `merged_at` and the event, because they had not
 * heard of the merge, is the survivor's.
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

/** An audience's members were computed: after its creation, a change of its rules, or a refresh. */
export const audienceReady = publicEvent(
  'audience.ready',
  z.object({ audience: Audience.meta({ description: 'The audience after the computation.' }), previous }),
  "An audience's members were computed: after its creation, a change of its rules, or a refresh.",
);
export const audienceFailed = publicEvent(
  'audience.failed',
  z.object({ audience: Audience.meta({ description: 'The audience; its `error` says what went wrong.' }), previous }),
  "An audience's members could not be computed; `error` says why.",
);
export const audienceEntered = publicEvent(
  'audience.entered',
  audience,
  'A contact became a member of an audience; also sent for each member that its first computation finds, and for a survivor that is one in place of the contact merged into it.',
);
export const audienceLeft = publicEvent(
  'audience.left',
  audience,
  'A contact is no longer a member of an audience, also because it was deleted or merged.',
);

export const contactDeleted = publicEvent(
  'contact.deleted',
  z.object({
    contact: Contact.pick({ id: true, number: true, external_id: true }).meta({
      description: 'The ids of the deleted contact.',
    }),
  }),
  'A contact was deleted, with all that customer data knew of it.',
);
/** The same for other modules: their copies of the contact can no longer be named. */
export const contactForgotten = internalEvent('contact.deleted', z.object({ contact: ContactSummary }));

/**
 * Returns a contact by id, or the surviving contact if merged; null if there is none. `merged` is there if merged: the ids from the
 * given one on, each of which was merged into the next, the last into the surviving contact or, after 1,000, into one before it.
 */
export const getContactSummary = internalRequest(
  'getContactSummary',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: ContactSummary.nullable(), merged: z.array(z.guid()).optional() }),
);

/** Returns a whole contact, with its times in UTC, or the surviving contact if merged; null if there is none. */
export const getContactProfile = internalRequest(
  'getContactProfile',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: Contact.nullable() }),
);

/**
 * Returns a contact's address on a channel and its latest consent for a purpose there, of the surviving contact if merged. Each is null
 * if there is none.
 */
export const getContactReach = internalRequest(
  'getContactReach',
  'cdp',
  z.object({ contact: z.guid(), channel, purpose: consentPurpose }),
  z.object({ address: z.string().nullable(), consent: consentState.nullable() }),
);

/**
 * Returns the contact `known`, the survivor if merged, else the oldest with this phone (E.164), however its country's digits are
 * written, or email, else creates one with that name; with `new_id` as its id, so that a repeated request creates no other.
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
 * Records that a contact opted out of marketing on a channel at `at`, or in again: `granted` grants what keywords alone withdrew, before `at`,
 * and nothing else. Returns whether it is recorded; a request repeated with the same `at` records nothing more and gets the same reply.
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
