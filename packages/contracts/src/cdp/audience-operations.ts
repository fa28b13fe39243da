import { z } from 'zod';
import { uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import {
  Audience,
  AudienceChange,
  AudienceExplanation,
  AudienceInput,
  AudienceMember,
  AudienceRules,
  audiencePath,
} from './audiences.ts';
import { ContactSummary } from './resources.ts';

const operation = operationsOf('cdp', 'cdp');
const read = 'cdp.audiences:read';
const write = 'cdp.audiences:write';

export const listAudiences = operation('listAudiences', {
  method: 'GET',
  path: '/v1/cdp/audiences',
  scope: read,
  summary: 'Lists audiences, newest first',
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(Audience),
  errors: [],
});

export const createAudience = operation('createAudience', {
  method: 'POST',
  path: '/v1/cdp/audiences',
  scope: write,
  summary: 'Adds an audience; who is in it is worked out from now on, and kept up to date',
  body: AudienceInput,
  status: 201,
  answer: Audience,
  errors: [],
});

export const getAudience = operation('getAudience', {
  method: 'GET',
  path: '/v1/cdp/audiences/{audience_id}',
  scope: read,
  summary: 'Reads an audience',
  params: audiencePath,
  status: 200,
  answer: Audience,
  errors: ['not_found'],
});

export const updateAudience = operation('updateAudience', {
  method: 'PATCH',
  path: '/v1/cdp/audiences/{audience_id}',
  scope: write,
  summary: 'Changes an audience; new rules are worked out anew',
  params: audiencePath,
  body: AudienceChange,
  status: 200,
  answer: Audience,
  errors: ['not_found'],
});

export const deleteAudience = operation('deleteAudience', {
  method: 'DELETE',
  path: '/v1/cdp/audiences/{audience_id}',
  scope: write,
  summary: 'Deletes an audience',
  params: audiencePath,
  status: 204,
  errors: ['not_found'],
});

export const refreshAudience = operation('refreshAudience', {
  method: 'POST',
  path: '/v1/cdp/audiences/{audience_id}/refresh',
  scope: write,
  summary: 'Works an audience out anew; asked for while that runs, once more after it',
  params: audiencePath,
  body: z.object({}),
  status: 202,
  answer: Audience,
  errors: ['not_found'],
});

export const previewAudience = operation('previewAudience', {
  method: 'POST',
  path: '/v1/cdp/audiences/preview',
  scope: read,
  summary: 'Counts who would be in an audience with these rules, and shows up to ten of them',
  body: z.object({ rules: AudienceRules }),
  status: 200,
  answer: z.object({ members: z.int(), sample: z.array(ContactSummary) }),
  errors: [],
});

export const explainAudience = operation('explainAudience', {
  method: 'GET',
  path: '/v1/cdp/audiences/{audience_id}/explain',
  scope: read,
  summary: 'Says why a contact is in an audience or is not, condition by condition',
  params: audiencePath,
  query: z.object({ contact: uuid }),
  status: 200,
  answer: AudienceExplanation,
  errors: ['not_found'],
});

export const listAudienceMembers = operation('listAudienceMembers', {
  method: 'GET',
  path: '/v1/cdp/audiences/{audience_id}/members',
  scope: read,
  summary: 'Lists who is in an audience, latest joiner first; the cursor is a contact id',
  params: audiencePath,
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(AudienceMember),
  errors: ['not_found'],
});
