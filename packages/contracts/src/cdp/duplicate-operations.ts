import { z } from 'zod';
import { uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { DuplicatePair, duplicatePath, duplicateReason } from './duplicates.ts';
import { contactMerged } from './events.ts';
import { Contact } from './resources.ts';

const operation = operationsOf('cdp', 'cdp');
const read = 'cdp.contacts:read';
const write = 'cdp.contacts:write';

export const listDuplicates = operation('listDuplicates', {
  method: 'GET',
  path: '/v1/cdp/duplicates',
  scope: read,
  summary: 'Lists pairs of contacts that look like one person, newest first',
  query: z.object({ reason: duplicateReason.optional(), ...pageQuery }),
  status: 200,
  answer: pageOf(DuplicatePair),
  errors: [],
});

export const findDuplicates = operation('findDuplicates', {
  method: 'POST',
  path: '/v1/cdp/duplicates/find',
  scope: write,
  summary: 'Looks for duplicates now, as every night',
  body: z.object({}),
  status: 202,
  answer: z.object({}),
  errors: [],
});

export const mergeDuplicate = operation('mergeDuplicate', {
  method: 'POST',
  path: '/v1/cdp/duplicates/{duplicate_id}/merge',
  scope: write,
  summary: 'Merges the pair into the contact to keep, and answers it',
  description:
    "What the kept contact lacks is filled, tags and fields are united, a withdrawn consent wins, events move. The other one's id goes on answering as the kept contact.",
  params: duplicatePath,
  body: z.object({ keep: uuid.meta({ description: 'One of the pair.' }) }),
  status: 200,
  answer: Contact,
  errors: ['not_found', 'invalid_state'],
  emits: [contactMerged],
});

export const dismissDuplicate = operation('dismissDuplicate', {
  method: 'POST',
  path: '/v1/cdp/duplicates/{duplicate_id}/dismiss',
  scope: write,
  summary: 'Says that the pair are two people; it comes back only for a stronger reason',
  params: duplicatePath,
  body: z.object({}),
  status: 200,
  answer: DuplicatePair,
  errors: ['not_found', 'invalid_state'],
});
