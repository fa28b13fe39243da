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
  summary: 'List audiences',
  description: 'Returns audiences, newest first, each with the number of its members.',
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(Audience),
  errors: [],
});

export const createAudience = operation('createAudience', {
  method: 'POST',
  path: '/v1/cdp/audiences',
  scope: write,
  summary: 'Create an audience',
  description:
    'Creates an audience. Its members are computed in the background and kept up to date. An account has at most 1,000 audiences; one more is refused with 409 invalid_state.',
  body: AudienceInput,
  status: 201,
  response: Audience,
  errors: ['invalid_state'],
});

export const getAudience = operation('getAudience', {
  method: 'GET',
  path: '/v1/cdp/audiences/{audience_id}',
  scope: read,
  summary: 'Retrieve an audience',
  description: 'While `status` is `building`, `members` and `refreshed_at` are from the last computation.',
  params: audiencePath,
  status: 200,
  response: Audience,
  errors: ['not_found'],
});

export const updateAudience = operation('updateAudience', {
  method: 'PATCH',
  path: '/v1/cdp/audiences/{audience_id}',
  scope: write,
  summary: 'Update an audience',
  description: 'Changes the audience. New rules are applied to all contacts in the background.',
  params: audiencePath,
  body: AudienceChange,
  status: 200,
  response: Audience,
  errors: ['not_found'],
});

export const deleteAudience = operation('deleteAudience', {
  method: 'DELETE',
  path: '/v1/cdp/audiences/{audience_id}',
  scope: write,
  summary: 'Delete an audience',
  description: 'Deletes the audience. Its members stay contacts, and leave the audience without an event.',
  params: audiencePath,
  status: 204,
  errors: ['not_found'],
});

export const refreshAudience = operation('refreshAudience', {
  method: 'POST',
  path: '/v1/cdp/audiences/{audience_id}/refresh',
  scope: write,
  summary: 'Refresh an audience',
  description: 'Computes the members again in the background. If a refresh is running, another one follows.',
  params: audiencePath,
  body: z.object({}),
  status: 202,
  response: Audience,
  errors: ['not_found'],
});

export const previewAudience = operation('previewAudience', {
  method: 'POST',
  path: '/v1/cdp/audiences/preview',
  scope: read,
  summary: 'Preview an audience',
  description: 'Returns how many contacts meet the rules, and up to ten of them.',
  body: z.object({ rules: AudienceRules }),
  status: 200,
  response: z.object({
    members: z.int().meta({ description: 'Number of contacts that meet the rules now.' }),
    sample: z.array(ContactSummary).meta({ description: 'Up to ten of these contacts, newest first.' }),
  }),
  errors: [],
});

export const explainAudience = operation('explainAudience', {
  method: 'GET',
  path: '/v1/cdp/audiences/{audience_id}/explain',
  scope: read,
  summary: 'Explain an audience membership',
  description: 'Returns whether a contact meets the rules, with the reason for each condition.',
  params: audiencePath,
  query: z.object({ contact: uuid.meta({ description: 'Id of the contact to explain.' }) }),
  status: 200,
  response: AudienceExplanation,
  errors: ['not_found'],
});

export const listAudienceMembers = operation('listAudienceMembers', {
  method: 'GET',
  path: '/v1/cdp/audiences/{audience_id}/members',
  scope: read,
  summary: 'List audience members',
  description: 'Returns members, latest entry first. The cursor is a contact id.',
  params: audiencePath,
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(AudienceMember),
  errors: ['not_found'],
});
