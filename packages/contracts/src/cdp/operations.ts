import { z } from 'zod';
import { text } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { audienceEntered, audienceLeft, contactCreated, contactDeleted, contactUpdated } from './events.ts';
import { Contact, ContactByExternalId, ContactChange, ContactInput, contactPath } from './resources.ts';

const operation = operationsOf('cdp', 'cdp');

export const createContact = operation('createContact', {
  method: 'POST',
  path: '/v1/cdp/contacts',
  scope: 'cdp.contacts:write',
  summary: 'Create a contact',
  description:
    'Two contacts may have the same phone, email or external id; they are then listed as duplicates. To write one by your own id, use PUT with the external id.',
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
    'Newest first, without those that were merged into another. A contact is listed if it matches every filter given.',
  query: z.object({
    q: text(200, 1).optional().meta({ description: 'Part of a name, phone, email or external id, ignoring case.' }),
    phone: z.string().optional().meta({ description: 'Only contacts with this phone number.' }),
    email: z.string().optional().meta({ description: 'Only contacts with this email address.' }),
    external_id: z.string().optional().meta({ description: 'Only contacts with this external id.' }),
    tag: z.string().optional().meta({ description: 'Only contacts with this tag.' }),
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
  description: 'The id of a contact that was merged returns the contact that it was merged into.',
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
  description: '`fields` merges by key and null removes a key. An empty string removes external_id, phone or email.',
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
  description: 'It leaves its audiences. Appointments, orders and messages stay and keep its name.',
  params: contactPath,
  status: 204,
  errors: ['not_found'],
  emits: [contactDeleted, audienceLeft, audienceEntered],
});

export const putContactByExternalId = operation('putContactByExternalId', {
  method: 'PUT',
  path: '/v1/cdp/contacts/by-external-id/{external_id}',
  scope: 'cdp.contacts:write',
  summary: 'Upsert a contact by external id',
  description: 'Creates the contact, or updates the oldest contact with this external id.',
  params: z.object({ external_id: text(200, 1) }),
  body: ContactByExternalId,
  status: 200,
  response: Contact,
  errors: [],
  emits: [contactCreated, contactUpdated],
});
