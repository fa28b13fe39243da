import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { eventsOf, previous } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
import { Audience } from './audiences.ts';
import { consentPurpose, consentState } from './consents.ts';
import { Contact, ContactSummary } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('cdp');

export const contactCreated = publicEvent('contact.created', z.object({ contact: Contact }));
export const contactUpdated = publicEvent('contact.updated', z.object({ contact: Contact, previous }));
export const contactMerged = publicEvent(
  'contact.merged',
  z.object({ contact: Contact, merged: ContactSummary, previous }),
);

const audience = z.object({ audience: z.object({ id: z.guid(), name: z.string() }), contact: ContactSummary });

/** Who is in an audience was worked out: at first, after its rules changed, and when it was asked for. */
export const audienceReady = publicEvent('audience.ready', z.object({ audience: Audience }));
export const audienceFailed = publicEvent('audience.failed', z.object({ audience: Audience }));
export const audienceEntered = publicEvent('audience.entered', audience);
export const audienceLeft = publicEvent('audience.left', audience);

/** A contact was deleted: copies of it stop being a contact that can be named. */
export const contactDeleted = internalEvent('contact.deleted', z.object({ contact: ContactSummary }));

/** Asks for a contact by id; a merged one answers as its survivor; null where there is none. */
export const getContactSummary = internalRequest(
  'getContactSummary',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: ContactSummary.nullable() }),
);

/** Asks for all that is known of a contact, with its times in UTC; a merged one answers as its survivor; null where there is none. */
export const getContactProfile = internalRequest(
  'getContactProfile',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: Contact.nullable() }),
);

/**
 * Asks where a contact is reached on a channel and what it last said about a purpose there; of a merged one the survivor. Each is null
 * where there is none.
 */
export const getContactReach = internalRequest(
  'getContactReach',
  'cdp',
  z.object({ contact: z.guid(), channel, purpose: consentPurpose }),
  z.object({ address: z.string().nullable(), consent: consentState.nullable() }),
);

/** Asks for the contact with this phone (E.164) or email: the oldest that has it, else a new one with that name. */
export const findOrCreateContact = internalRequest(
  'findOrCreateContact',
  'cdp',
  z.object({ phone: z.string().optional(), email: z.string().optional(), name: z.string() }),
  z.object({ contact: ContactSummary }),
);
