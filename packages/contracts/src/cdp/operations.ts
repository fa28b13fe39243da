import { z } from 'zod';
import { text } from '../core/fields.ts';
import { listEntry } from '../core/list-entry.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery, updatedSinceQuery } from '../core/page.ts';
import {
  audienceEntered,
  audienceLeft,
  contactCreated,
  contactDeleted,
  contactForgotten,
  contactUpdated,
} from './events.ts';
import {
  Contact,
  ContactByExternalId,
  ContactChange,
  ContactInput,
  ContactsWritten,
  contactPath,
  maxBatch,
  WrittenContact,
} from './resources.ts';

const operation = operationsOf('cdp', 'cdp');

export const createContact = operation('createContact', {
  method: 'POST',
  path: '/v1/cdp/contacts',
  scope: 'cdp.contacts:write',
  summary: 'Create a contact',
  description:
    'Creates a contact. Contacts with the same phone, email or external id are listed as duplicates. To create or update a contact by your own id, use PUT with the external id.',
  body: ContactInput,
  status: 201,
  response: Contact,
  errors: [],
  emits: [contactCreated],
});

export const listContacts = operation('listContacts', {
  method: 'GET',
  path: '/v1/cdp/contacts',
  scope: 'cdp.contacts:read',
  summary: 'List contacts',
  description:
    'Returns contacts, newest first, without contacts that were merged into another. A contact must match every filter given.',
  query: z.object({
    q: text(200, 1).optional().meta({ description: 'Part of a name, phone, email or external id, ignoring case.' }),
    phone: z.string().optional().meta({ description: 'Only contacts with this phone number.' }),
    email: z.string().optional().meta({ description: 'Only contacts with this email address.' }),
    external_id: z.string().optional().meta({ description: 'Only contacts with this external id.' }),
    tag: z.string().optional().meta({ description: 'Only contacts with this tag.' }),
    ...updatedSinceQuery,
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Contact),
  errors: [],
});

export const getContact = operation('getContact', {
  method: 'GET',
  path: '/v1/cdp/contacts/{contact_id}',
  scope: 'cdp.contacts:read',
  summary: 'Retrieve a contact',
  description: 'Returns the contact. The id of a merged contact returns the surviving contact.',
  params: contactPath,
  status: 200,
  response: Contact,
  errors: ['not_found'],
});

export const updateContact = operation('updateContact', {
  method: 'PATCH',
  path: '/v1/cdp/contacts/{contact_id}',
  scope: 'cdp.contacts:write',
  summary: 'Update a contact',
  description: '`fields` merges by key; null removes a key. Null or an empty string removes any other value.',
  params: contactPath,
  body: ContactChange,
  status: 200,
  response: Contact,
  errors: ['not_found'],
  emits: [contactUpdated],
});

export const deleteContact = operation('deleteContact', {
  method: 'DELETE',
  path: '/v1/cdp/contacts/{contact_id}',
  scope: 'cdp.contacts:write',
  summary: 'Delete a contact',
  description: 'The contact leaves its audiences. Appointments, orders and messages stay and keep its name.',
  params: contactPath,
  status: 204,
  errors: ['not_found'],
  emits: [contactDeleted, contactForgotten, audienceLeft, audienceEntered],
});

export const putContactByExternalId = operation('putContactByExternalId', {
  method: 'PUT',
  path: '/v1/cdp/contacts/by-external-id/{external_id}',
  clientName: 'cdp.contacts.upsertByExternalId',
  scope: 'cdp.contacts:write',
  summary: 'Upsert a contact by external id',
  description: 'Updates the oldest contact with this external id, or creates one. Null leaves a value as it is.',
  params: z.object({
    external_id: text(200, 1).meta({ description: "The contact's id in your own system." }),
  }),
  body: ContactByExternalId,
  status: 200,
  response: Contact,
  errors: [],
  emits: [contactCreated, contactUpdated],
});

export const writeContacts = operation('writeContacts', {
  method: 'POST',
  path: '/v1/cdp/contacts/batch',
  scope: 'cdp.contacts:write',
  summary: 'Create or update many contacts',
  description: `Writes up to ${maxBatch} contacts. Each entry succeeds or fails separately. An entry updates the oldest contact with its external id, otherwise with its email, otherwise with its phone, like PATCH. If there is none, it creates a contact. Entries for the same contact apply in order. Counts as one request. If the entries match more than 5,000 contacts, or more than 8 MiB of tags and fields, the request gets 400: send fewer.`,
  body: z.object({
    contacts: z
      .array(listEntry(WrittenContact, 'WrittenContact'))
      .min(1)
      .max(maxBatch)
      .meta({ description: 'The contacts to write. Each entry succeeds or fails separately.' }),
  }),
  status: 200,
  response: ContactsWritten,
  errors: [],
  emits: [contactCreated, contactUpdated],
});
