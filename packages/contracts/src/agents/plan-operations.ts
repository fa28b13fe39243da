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
  summary: 'Lists the plans that agents made, newest first',
  query: z.object({
    status: z.enum(['awaiting', 'open']).optional().meta({
      description: 'awaiting: waits for approval, whole or a step of it. open: still has work ahead.',
    }),
    agent: integerId.optional(),
    contact: uuid.optional(),
    ...pageQuery,
  }),
  status: 200,
  answer: pageOf(Plan),
  errors: [],
});

export const getPlan = operation('getPlan', {
  method: 'GET',
  path: '/v1/agents/plans/{plan_id}',
  scope: read,
  summary: 'Reads a plan',
  params: planPath,
  status: 200,
  answer: Plan,
  errors: ['not_found'],
});

export const requestPlan = operation('requestPlan', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/plans',
  scope: write,
  summary: 'Has a live agent make a plan for a contact',
  description: 'Answers the plan before it has steps: its status is running until the agent has thought.',
  params: agentPath,
  body: PlanInput,
  status: 202,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
});

export const approvePlan = operation('approvePlan', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/approve',
  scope: write,
  summary: 'Approves a plan with all its steps that are undecided',
  params: planPath,
  body: Decision,
  status: 200,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planApproved],
});

export const rejectPlan = operation('rejectPlan', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/reject',
  scope: write,
  summary: 'Rejects a plan: nothing of it is done',
  params: planPath,
  body: Decision,
  status: 200,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planRejected],
});

export const cancelPlan = operation('cancelPlan', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/cancel',
  scope: write,
  summary: 'Stops an open plan: what has not begun is not done',
  params: planPath,
  body: Decision,
  status: 200,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
});

export const approvePlanStep = operation('approvePlanStep', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/steps/{step_id}/approve',
  scope: write,
  summary: 'Approves one step, where steps are approved',
  params: stepPath,
  body: Decision,
  status: 200,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planApproved],
});

export const rejectPlanStep = operation('rejectPlanStep', {
  method: 'POST',
  path: '/v1/agents/plans/{plan_id}/steps/{step_id}/reject',
  scope: write,
  summary: 'Rejects one step, where steps are approved: it is skipped',
  params: stepPath,
  body: Decision,
  status: 200,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
  emits: [planRejected, planCompleted],
});

export const updatePlanStep = operation('updatePlanStep', {
  method: 'PATCH',
  path: '/v1/agents/plans/{plan_id}/steps/{step_id}',
  scope: write,
  summary: 'Changes what an undecided step does',
  description: 'Only the params that the step names in `editable`; any other is refused.',
  params: stepPath,
  body: StepChange,
  status: 200,
  answer: Plan,
  errors: ['not_found', 'invalid_state'],
});
