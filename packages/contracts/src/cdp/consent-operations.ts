import { z } from 'zod';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { Consent, ConsentInput } from './consents.ts';
import { EventIntake } from './contact-events.ts';
import { contactPath } from './resources.ts';

const operation = operationsOf('cdp', 'cdp');

export const listConsents = operation('listConsents', {
  method: 'GET',
  path: '/v1/cdp/contacts/{contact_id}/consents',
  scope: 'cdp.contacts:read',
  summary: 'Lists what a contact said about being reached, newest first',
  params: contactPath,
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(Consent),
  errors: ['not_found'],
});

export const recordConsent = operation('recordConsent', {
  method: 'POST',
  path: '/v1/cdp/contacts/{contact_id}/consents',
  scope: 'cdp.contacts:write',
  summary: 'Records a consent or its withdrawal; the latest counts, and of two at one instant the withdrawal',
  params: contactPath,
  body: ConsentInput,
  status: 201,
  answer: Consent,
  errors: ['not_found'],
});

export const recordEvents = operation('recordEvents', {
  method: 'POST',
  path: '/v1/cdp/events',
  scope: 'cdp.events:write',
  summary: 'Records up to 500 events of contacts; good ones are taken whatever the others are',
  body: z.object({
    events: z
      .array(
        // Each is read by itself, as ContactEventInput: a bad one must not refuse the others.
        z.unknown().meta({ override: { $ref: '#/components/schemas/ContactEvent' } }),
      )
      .min(1)
      .max(500),
  }),
  status: 202,
  answer: EventIntake,
  errors: [],
});
