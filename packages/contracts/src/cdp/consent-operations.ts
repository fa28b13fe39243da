import { z } from 'zod';
import { listEntry } from '../core/list-entry.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { Consent, ConsentInput } from './consents.ts';
import { ContactEventInput, EventIntake } from './contact-events.ts';
import { contactPath } from './resources.ts';

const operation = operationsOf('cdp', 'cdp');

export const listConsents = operation('listConsents', {
  method: 'GET',
  path: '/v1/cdp/contacts/{contact_id}/consents',
  scope: 'cdp.contacts:read',
  summary: "List a contact's consents",
  description: 'Returns all statements, last recorded first. The latest `at` counts, per channel and purpose.',
  params: contactPath,
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(Consent),
  errors: ['not_found'],
});

export const recordConsent = operation('recordConsent', {
  method: 'POST',
  path: '/v1/cdp/contacts/{contact_id}/consents',
  clientName: 'cdp.contacts.consents.record',
  scope: 'cdp.contacts:write',
  summary: 'Record a consent',
  description:
    'Records that a contact granted or withdrew consent. The latest statement counts; at the same instant, a withdrawal counts.',
  params: contactPath,
  body: ConsentInput,
  status: 201,
  response: Consent,
  errors: ['not_found'],
});

export const recordEvents = operation('recordEvents', {
  method: 'POST',
  path: '/v1/cdp/events',
  clientName: 'cdp.events.record',
  scope: 'cdp.events:write',
  summary: 'Record contact events',
  description: 'Records up to 500 events. Valid events are accepted even if others are rejected.',
  body: z.object({
    events: z
      .array(listEntry(ContactEventInput, 'ContactEvent'))
      .min(1)
      .max(500)
      .meta({ description: 'The events to record. Each is accepted or rejected separately.' }),
  }),
  status: 202,
  response: EventIntake,
  errors: [],
});
