import { z } from 'zod';
import { integerId, text, uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery, updatedSinceQuery } from '../core/page.ts';
import {
  dealCreated,
  dealDeleted,
  dealForgotten,
  dealLost,
  dealReopened,
  dealStageChanged,
  dealUpdated,
  dealWon,
} from './events.ts';
import {
  Deal,
  DealChange,
  DealInput,
  dealPath,
  dealStatus,
  Pipeline,
  PipelineChange,
  PipelineInput,
  pipelinePath,
} from './resources.ts';

const operation = operationsOf('crm', 'crm');
const read = 'crm.deals:read';
const write = 'crm.deals:write';

export const listPipelines = operation('listPipelines', {
  method: 'GET',
  path: '/v1/crm/pipelines',
  scope: read,
  summary: 'List pipelines',
  description:
    'Returns pipelines, oldest first. The first is the default for new deals. Every account begins with the pipeline Sales: New, Qualified, Proposal.',
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(Pipeline),
  errors: [],
});

export const createPipeline = operation('createPipeline', {
  method: 'POST',
  path: '/v1/crm/pipelines',
  scope: write,
  summary: 'Create a pipeline',
  description:
    'Stages get new ids and keep the order of the list. An account has at most 1,000 pipelines; one more is refused with 409 invalid_state.',
  body: PipelineInput,
  status: 201,
  response: Pipeline,
  errors: ['invalid_state'],
});

export const getPipeline = operation('getPipeline', {
  method: 'GET',
  path: '/v1/crm/pipelines/{pipeline_id}',
  scope: read,
  summary: 'Retrieve a pipeline',
  description: 'Returns the pipeline with its stages. A stage keeps its id when it is renamed or moved.',
  params: pipelinePath,
  status: 200,
  response: Pipeline,
  errors: ['not_found'],
});

export const updatePipeline = operation('updatePipeline', {
  method: 'PATCH',
  path: '/v1/crm/pipelines/{pipeline_id}',
  scope: write,
  summary: 'Update a pipeline',
  description: 'Changes the name, the stages, or both. A stage with deals cannot be removed.',
  params: pipelinePath,
  body: PipelineChange,
  status: 200,
  response: Pipeline,
  errors: ['not_found', 'invalid_state'],
});

export const deletePipeline = operation('deletePipeline', {
  method: 'DELETE',
  path: '/v1/crm/pipelines/{pipeline_id}',
  scope: write,
  summary: 'Delete a pipeline',
  description: 'Deletes the pipeline with its stages. A pipeline with deals cannot be deleted.',
  params: pipelinePath,
  status: 204,
  errors: ['not_found', 'invalid_state'],
});

export const listDeals = operation('listDeals', {
  method: 'GET',
  path: '/v1/crm/deals',
  scope: read,
  summary: 'List deals',
  description: 'Returns deals, newest first. A deal must match every filter given.',
  query: z.object({
    pipeline: integerId.optional().meta({ description: 'Only deals of the pipeline with this id.' }),
    stage: integerId.optional().meta({ description: 'Only deals in the stage with this id.' }),
    status: dealStatus.optional().meta({ description: 'Only deals with this status.' }),
    contact: uuid.optional().meta({
      description: 'Only deals of the contact with this id, or of contacts merged into it.',
    }),
    ...updatedSinceQuery,
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Deal),
  errors: [],
});

export const createDeal = operation('createDeal', {
  method: 'POST',
  path: '/v1/crm/deals',
  scope: write,
  summary: 'Create a deal',
  description:
    "Creates an open deal. Without `pipeline` and `stage`, it begins in the first stage of the account's first pipeline.",
  body: DealInput,
  status: 201,
  response: Deal,
  errors: [],
  emits: [dealCreated],
});

export const getDeal = operation('getDeal', {
  method: 'GET',
  path: '/v1/crm/deals/{deal_id}',
  scope: read,
  summary: 'Retrieve a deal',
  description: 'Returns the deal. `stage_entered_at` is the time when it entered its stage.',
  params: dealPath,
  status: 200,
  response: Deal,
  errors: ['not_found'],
});

export const updateDeal = operation('updateDeal', {
  method: 'PATCH',
  path: '/v1/crm/deals/{deal_id}',
  scope: write,
  summary: 'Update a deal',
  description: 'Use move, win, lose or reopen to change its stage or status. The pipeline never changes.',
  params: dealPath,
  body: DealChange,
  status: 200,
  response: Deal,
  errors: ['not_found'],
  emits: [dealUpdated],
});

export const deleteDeal = operation('deleteDeal', {
  method: 'DELETE',
  path: '/v1/crm/deals/{deal_id}',
  scope: write,
  summary: 'Delete a deal',
  description: 'Deletes the deal. Its appointments stay and no longer refer to it.',
  params: dealPath,
  status: 204,
  errors: ['not_found'],
  emits: [dealDeleted, dealForgotten],
});

export const moveDeal = operation('moveDeal', {
  method: 'POST',
  path: '/v1/crm/deals/{deal_id}/move',
  scope: write,
  summary: 'Move a deal',
  description: 'Moves an open deal to another stage of its pipeline.',
  params: dealPath,
  body: z.object({ stage: integerId.meta({ description: "Id of a stage of the deal's pipeline." }) }),
  status: 200,
  response: Deal,
  errors: ['not_found', 'invalid_state'],
  emits: [dealStageChanged],
});

export const winDeal = operation('winDeal', {
  method: 'POST',
  path: '/v1/crm/deals/{deal_id}/win',
  scope: write,
  summary: 'Win an open deal',
  description: 'Marks an open deal as won. The deal keeps its stage. A won deal stays as it is.',
  params: dealPath,
  body: z.object({}),
  status: 200,
  response: Deal,
  errors: ['not_found', 'invalid_state'],
  emits: [dealWon],
});

export const loseDeal = operation('loseDeal', {
  method: 'POST',
  path: '/v1/crm/deals/{deal_id}/lose',
  scope: write,
  summary: 'Lose an open deal',
  description: 'Marks an open deal as lost and sends the reason with `deal.lost`. A lost deal stays as it is.',
  params: dealPath,
  body: z.object({
    reason: text(500)
      .default('')
      .meta({ description: 'Why the deal was lost. It is sent with `deal.lost`, but not stored in the deal.' }),
  }),
  status: 200,
  response: Deal,
  errors: ['not_found', 'invalid_state'],
  emits: [dealLost],
});

export const reopenDeal = operation('reopenDeal', {
  method: 'POST',
  path: '/v1/crm/deals/{deal_id}/reopen',
  scope: write,
  summary: 'Reopen a deal',
  description: 'Opens a won or lost deal again, in its last stage. An open deal stays as it is.',
  params: dealPath,
  body: z.object({}),
  status: 200,
  response: Deal,
  errors: ['not_found'],
  emits: [dealReopened],
});
