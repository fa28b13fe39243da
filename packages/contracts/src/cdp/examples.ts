import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type * as audienceOperations from './audience-operations.ts';
import type { Audience } from './audiences.ts';
import type * as consentOperations from './consent-operations.ts';
import type { Consent } from './consents.ts';
import type * as duplicateOperations from './duplicate-operations.ts';
import type * as events from './events.ts';
import type * as operations from './operations.ts';
import type { Contact, ContactSummary } from './resources.ts';

/** Lena, a customer of the hair salon in all examples. Her number is never assigned to anyone. */
export const lena: Contact = {
  id: '019a9c5e-2b7a-7c31-9d2f-4e6b8a1c3d50',
  number: 42,
  external_id: 'till-1042',
  name: 'Lena Vogel',
  phone: '+493023125101',
  email: 'lena01@example.com',
  tags: ['regular'],
  fields: { hair_length: 'long', loyalty_points: 120 },
  merged_into: null,
  created_at: '2025-09-14T16:20:00+02:00',
  updated_at: '2025-11-02T11:05:12+01:00',
};

/** Lena in other modules. */
export const lenaSummary: ContactSummary = { id: lena.id, name: lena.name, phone: '+493023125101' };

const twin: ContactSummary = { id: '019a9c5e-9f04-7d12-8a55-1b2c3d4e5f60', name: 'L. Vogel', phone: '+493023125101' };

const rules: Audience['rules'] = {
  match: 'all',
  conditions: [
    { type: 'tag', op: 'has', tag: 'regular' },
    { type: 'event', op: 'did_not', name: 'visit.paid', days: 60, at_least: 1 },
  ],
};

const audience: Audience = {
  id: '019a9c60-41d3-7b6e-a1f0-7c8d9e0f1a20',
  name: 'Regulars we miss',
  description: 'Regulars who have not been here for two months.',
  status: 'ready',
  error: '',
  members: 17,
  refreshed_at: '2025-11-16T08:00:03+01:00',
  created_at: '2025-11-16T08:00:00+01:00',
  updated_at: '2025-11-16T08:00:03+01:00',
  rules,
};
const building: Audience = {
  ...audience,
  status: 'building',
  members: 0,
  refreshed_at: null,
  updated_at: audience.created_at,
};

const consent: Consent = {
  id: '019a9c61-0c5e-7f44-b3d2-2a3b4c5d6e70',
  channel: 'whatsapp',
  purpose: 'marketing',
  state: 'granted',
  source: 'Sign-up form in the salon',
  at: '2025-11-02T11:05:00+01:00',
  created_at: '2025-11-02T11:05:12+01:00',
};

const pair = {
  id: 7,
  contacts: [lenaSummary, twin],
  reason: 'phone',
  detail: '+493023125101',
  score: 70,
} satisfies {
  contacts: [ContactSummary, ContactSummary];
  [name: string]: unknown;
};

/** The contact `twin` after its merge is undone. */
const restored: Contact = { ...lena, ...twin, number: 1_043, external_id: null, email: null, tags: [], fields: {} };

const contactBody = {
  external_id: 'till-1042',
  name: 'Lena Vogel',
  phone: '030 23125101',
  email: 'lena01@example.com',
  tags: ['regular'],
  fields: { hair_length: 'long', loyalty_points: 120 },
};
const changed: Contact = {
  ...lena,
  tags: ['regular', 'bride'],
  fields: { ...lena.fields, loyalty_points: 160 },
  updated_at: '2025-11-20T11:02:41+01:00',
};

export const cdpExamples: ExamplesOf<
  typeof operations & typeof consentOperations & typeof audienceOperations & typeof duplicateOperations
> = {
  createContact: { body: contactBody, response: lena },
  listContacts: { response: onePage(lena) },
  getContact: { response: lena },
  updateContact: { body: { tags: ['regular', 'bride'], fields: { loyalty_points: 160 } }, response: changed },
  putContactByExternalId: { body: { name: 'Lena Vogel', phone: '030 23125101', tags: ['regular'] }, response: lena },

  writeContacts: {
    body: {
      contacts: [
        { external_id: 'shop-2041', name: 'Lena Vogel', email: 'lena@vogel.example' },
        { name: 'Nobody', phone: 'unknown' },
      ],
    },
    response: {
      created: 0,
      updated: 1,
      unchanged: 0,
      failed: 1,
      data: [
        { index: 0, outcome: 'updated', id: lena.id, error: null },
        {
          index: 1,
          outcome: 'failed',
          id: null,
          error: {
            code: 'invalid_request',
            message:
              "contacts[1].phone must be a phone number, such as +4930901820; one of the account's country, DE, needs no country code",
            field: 'phone',
          },
        },
      ],
    },
  },
  listConsents: { response: onePage(consent) },
  recordConsent: {
    body: {
      channel: 'whatsapp',
      purpose: 'marketing',
      state: 'granted',
      source: 'Sign-up form in the salon',
      at: '2025-11-02T11:05:00+01:00',
    },
    response: consent,
  },
  recordEvents: {
    body: {
      events: [
        {
          id: 'till-receipt-5518',
          contact: lena.id,
          name: 'visit.paid',
          at: '2025-11-02T11:00:00+01:00',
          properties: { amount_minor: 6400, stylist: 'Mira Klein' },
        },
      ],
    },
    response: { accepted: 1, repeated: 0, rejected: [] },
  },

  listAudiences: { response: onePage(audience) },
  createAudience: {
    body: { name: audience.name, description: audience.description, rules },
    response: building,
  },
  getAudience: { response: audience },
  updateAudience: {
    body: { description: 'Regulars who have not paid for a visit in two months.' },
    response: { ...audience, description: 'Regulars who have not paid for a visit in two months.' },
  },
  refreshAudience: { response: { ...audience, status: 'building' } },
  previewAudience: { body: { rules }, response: { members: 17, sample: [lenaSummary] } },
  explainAudience: {
    response: {
      member: false,
      conditions: [
        { condition: rules.conditions[0]!, holds: true, because: 'the contact has the tag regular; needed with it' },
        {
          condition: rules.conditions[1]!,
          holds: false,
          because: 'visit.paid was last seen 2025-11-02, 14 days ago; needed not within 60 days',
        },
      ],
    },
  },
  listAudienceMembers: {
    response: onePage({ ...lenaSummary, entered_at: '2025-11-16T08:00:03+01:00' }),
  },

  listDuplicates: { response: onePage({ ...pair, reason: 'phone' as const }) },
  findDuplicates: { response: {} },
  mergeDuplicate: { body: { keep: lena.id }, response: lena },
  undoDuplicate: { response: { data: [lena, restored] } },
  dismissDuplicate: { response: { ...pair, reason: 'phone' } },
};

const entered = { audience: { id: audience.id, name: audience.name }, contact: lenaSummary };

export const cdpEventExamples: EventExamplesOf<typeof events> = {
  contactCreated: { contact: lena },
  contactUpdated: {
    contact: changed,
    previous: { tags: lena.tags, fields: lena.fields },
  },
  contactMerged: { contact: lena, merged: twin, previous: { email: null } },
  contactUnmerged: { contact: lena, restored },
  contactDeleted: { contact: { id: twin.id, number: 1_044, external_id: null } },
  audienceReady: { audience, previous: { status: 'building', members: 0, refreshed_at: null } },
  audienceFailed: {
    audience: { ...building, status: 'failed', error: 'The rules took too long to evaluate; use fewer conditions.' },
    previous: { status: 'building', error: '' },
  },
  audienceEntered: entered,
  audienceLeft: entered,
};
