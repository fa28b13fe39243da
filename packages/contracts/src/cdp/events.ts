import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
import { Contact, ContactSummary } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('cdp');

export const contactCreated = publicEvent('contact.created', z.object({ contact: Contact }));
export const contactUpdated = publicEvent('contact.updated', z.object({ contact: Contact, previous }));
export const contactMerged = publicEvent('contact.merged', z.object({ contact: Contact, merged: ContactSummary }));

/** A contact was deleted: copies of it stop being a contact that can be named. */
export const contactDeleted = internalEvent('contact.deleted', z.object({ contact: ContactSummary }));

/** Asks for a contact by id; a merged one answers as its survivor; null where there is none. */
export const getContactSummary = internalRequest(
  'getContactSummary',
  'cdp',
  z.object({ contact: z.guid() }),
  z.object({ contact: ContactSummary.nullable() }),
);
