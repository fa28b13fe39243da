import { z } from 'zod';
import { integerId, uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { agentPath } from './agents.ts';
import { planApproved, planCompleted, planRejected } from './events.ts';
import { Decision, Plan, PlanInput, planPath, StepChange, stepPath } from './plans.ts';

const operation = operationsOf('agents', 'agents');
const read = 'agents:read';
const write = 'agents.plans:write';

export const listPlans = operation('listPlans', {
  method: 'GET',
  path: '/v1/agents/plans',
  scope: read,
  summary: 'List plans',
  description: 'Returns plans with their steps, newest first. A plan must match every filter given.',
  query: z.object({
    status: z.enum(['awaiting', 'open']).optional().meta({
      description: '`awaiting`: the plan or one of its steps awaits approval. `open`: the plan has not ended.',
    }),
    agent: integerId.optional().meta({ description: 'Only plans of the agent with this id.' }),
    contact: uuid.optional().meta({
      description: 'Only plans for the contact with this id, or for contacts merged into it.',
    }),
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Plan),
  errors: [],
});

export const getPlan = operation('getPlan', {
  method: 'GET',
  path: '/v1/agents/plans/{plan_id}',
  scope: read,
  summary: 'Retrieve a plan',
  description: 'Returns the plan with its steps in order, each with its status and result.',
  params: planPath,
  status: 200,
  response: Plan,
  errors: ['not_found'],
});

export const requestPlan = operation('requestPlan', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/plans',
  clientName: 'agents.plans.request',
  scope: write,
  summary: 'Request a plan',
  description:
    'Asks a live agent to make a plan for a contact. The response has no steps yet: the status is `running` until the agent has made them.',
  params: agentPath,
  body: PlanInput,
  status: 202,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
});

export const approvePlan = operation('approvePlan', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/approve',
  scope: write,
  summary: 'Approve a plan',
  description: 'Approves the plan and all its undecided steps.',
  params: planPath,
  body: Decision,
  status: 200,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planApproved],
});

export const rejectPlan = operation('rejectPlan', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/reject',
  scope: write,
  summary: 'Reject a plan',
  description: 'Rejects a plan that awaits approval. None of its steps will run.',
  params: planPath,
  body: Decision,
  status: 200,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planRejected],
});

export const cancelPlan = operation('cancelPlan', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/cancel',
  scope: write,
  summary: 'Cancel a plan',
  description: 'Ends an open plan. Steps that have not started will not run.',
  params: planPath,
  body: Decision,
  status: 200,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
});

export const approvePlanStep = operation('approvePlanStep', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/steps/{step_id}/approve',
  scope: write,
  summary: 'Approve a plan step',
  description: 'Approves one step of a plan with approval_mode `step`.',
  params: stepPath,
  body: Decision,
  status: 200,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planApproved],
});

export const rejectPlanStep = operation('rejectPlanStep', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/steps/{step_id}/reject',
  scope: write,
  summary: 'Reject a plan step',
  description: 'Rejects one step of a plan with approval_mode `step`. The step is skipped.',
  params: stepPath,
  body: Decision,
  status: 200,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planRejected, planCompleted],
});

export const updatePlanStep = operation('updatePlanStep', {
  method: 'PATCH',
  path: '/v1/agents/plans/{plan_id}/steps/{step_id}',
  scope: write,
  summary: 'Update a plan step',
  description: 'Changes params of an undecided step. Only params listed in `editable` can be changed.',
  params: stepPath,
  body: StepChange,
  status: 200,
  response: Plan,
  errors: ['not_found', 'invalid_state'],
});
