import { z } from 'zod';
import { uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { DuplicatePair, duplicatePath, duplicateReason } from './duplicates.ts';
import { audienceEntered, audienceLeft, contactMerged, contactRestored, contactUnmerged } from './events.ts';
import { Contact } from './resources.ts';

const operation = operationsOf('cdp', 'cdp');
const read = 'cdp.contacts:read';
const write = 'cdp.contacts:write';

export const listDuplicates = operation('listDuplicates', {
  method: 'GET',
  path: '/v1/cdp/duplicates',
  scope: read,
  summary: 'List duplicate pairs',
  description: 'Returns pairs of contacts that seem to be the same person, newest first.',
  query: z.object({
    reason: duplicateReason.optional().meta({ description: 'Only pairs with this reason.' }),
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(DuplicatePair),
  errors: [],
});

export const findDuplicates = operation('findDuplicates', {
  method: 'POST',
  path: '/v1/cdp/duplicates/find',
  scope: write,
  summary: 'Find duplicates',
  description: 'Starts the search for duplicates, which also runs every night.',
  body: z.object({}),
  status: 202,
  response: z.object({}),
  errors: [],
});

export const mergeDuplicate = operation('mergeDuplicate', {
  method: 'POST',
  path: '/v1/cdp/duplicates/{duplicate_id}/merge',
  scope: write,
  summary: 'Merge a duplicate pair',
  description:
    "Merges the pair into the contact in `keep` and returns it. Its missing values are filled in, tags and fields are combined, and events move to it. A withdrawn consent wins. The other contact's id then refers to the kept contact. A merge can be undone for 30 days.",
  params: duplicatePath,
  body: z.object({ keep: uuid.meta({ description: 'Id of the contact to keep, one of the pair.' }) }),
  status: 200,
  response: Contact,
  errors: ['not_found', 'invalid_state'],
  emits: [contactMerged, audienceEntered, audienceLeft],
});

export const undoDuplicate = operation('undoDuplicate', {
  method: 'POST',
  path: '/v1/cdp/duplicates/{duplicate_id}/undo',
  scope: write,
  summary: 'Undo a merge',
  description:
    'Undoes a merge of the last 30 days and returns the surviving and the restored contact. The restored contact gets back its fields, tags, consents and events, and everything in other modules that belonged to it before the merge. Anything added later stays with the surviving contact. The surviving contact loses the values that it got from the merge, unless they changed since. The pair becomes dismissed. Undo merges that share a contact in reverse order.',
  params: duplicatePath,
  body: z.object({}),
  status: 200,
  response: z.object({
    data: z.tuple([Contact, Contact]).meta({ description: 'The surviving contact, then the restored one.' }),
  }),
  errors: ['not_found', 'invalid_state'],
  emits: [contactRestored, contactUnmerged],
});

export const dismissDuplicate = operation('dismissDuplicate', {
  method: 'POST',
  path: '/v1/cdp/duplicates/{duplicate_id}/dismiss',
  scope: write,
  summary: 'Dismiss a duplicate pair',
  description: 'Marks the pair as two different people. It is listed again only for a stronger reason.',
  params: duplicatePath,
  body: z.object({}),
  status: 200,
  response: DuplicatePair,
  errors: ['not_found', 'invalid_state'],
});
