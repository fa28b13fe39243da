import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { integerId, text, timestamp, uuid } from '../core/fields.ts';
import { AgentSummary, agentAction, approvalMode } from './agents.ts';

export const planStatus = z.enum([
  'awaiting_approval',
  'running',
  'completed',
  'rejected',
  'expired',
  'cancelled',
  'failed',
]);
export type PlanStatus = z.infer<typeof planStatus>;

export const planTrigger = z.enum(['inbound_message', 'follow_up', 'manual']);
export type PlanTrigger = z.infer<typeof planTrigger>;

export const stepStatus = z.enum(['pending', 'awaiting_approval', 'running', 'done', 'skipped', 'cancelled', 'failed']);
export type StepStatus = z.infer<typeof stepStatus>;

const messageBody = text(4_096, 1);
const noteBody = text(2_000, 1);
const goal = text(500, 1);

export const SendMessageParams = z
  .object({
    channel,
    body: messageBody,
    channel_locked: z.boolean().meta({ description: 'Whether it replies to a message received on this channel.' }),
  })
  .meta({ id: 'SendMessageParams' });
export const AddNoteParams = z.object({ body: noteBody }).meta({ id: 'AddNoteParams' });
export const FollowUpParams = z.object({ goal }).meta({ id: 'FollowUpParams' });
export const MoveStageParams = z.object({ stage: integerId }).meta({ id: 'MoveStageParams' });

export const PlanStep = z
  .object({
    id: integerId,
    order: z
      .int()
      .meta({ description: 'Position, from 1. A step starts when it is due and all earlier steps have ended.' }),
    action: agentAction,
    title: z.string(),
    body: z.string().nullable().meta({ description: 'Text the step sends or writes.' }),
    detail: z.string().nullable().meta({ description: 'The channel, the goal of a follow-up, or the stage.' }),
    reason: z.string(),
    run_at: timestamp.meta({
      description: 'When it is due: its delay after its approval, or after the planning where none is asked.',
    }),
    requires_approval: z.boolean(),
    status: stepStatus,
    result: z
      .record(z.string(), z.unknown())
      .meta({ id: 'PlanStepResult' })
      .nullable()
      .meta({ description: 'Outcome: {message}, {deal}, {plan} or {error}.' }),
    editable: z.array(z.string()).meta({ description: 'Params that can be changed until the step is decided.' }),
    params: z.union([SendMessageParams, AddNoteParams, FollowUpParams, MoveStageParams]),
  })
  .meta({ id: 'PlanStep' });
export type PlanStep = z.infer<typeof PlanStep>;

export const Plan = z
  .object({
    id: integerId,
    agent: AgentSummary,
    scope: z.enum(['contact']),
    campaign_id: z.int().nullable(),
    contact: z
      .object({
        id: z.int().meta({ description: "The contact's number." }),
        uuid: z.guid(),
        name: z.string(),
        msisdn: z.string(),
      })
      .meta({ id: 'PlanContact' }),
    deal: z
      .object({ id: z.int().meta({ description: "The deal's number." }), title: z.string(), stage: z.string() })
      .meta({ id: 'PlanDeal' })
      .nullable()
      .meta({ description: 'The deal when the plan was made; null if the contact had no open deal.' }),
    pipeline: z.object({ id: integerId, name: z.string() }).meta({ id: 'PlanPipeline' }).nullable(),
    trigger: planTrigger,
    trigger_excerpt: z.string().meta({ description: 'Beginning of the text that triggered the plan.' }),
    goal: z.string(),
    rationale: z.string(),
    status: planStatus.meta({ description: 'running without steps: the agent is still making the plan.' }),
    approval_mode: approvalMode,
    approval_reasons: z.array(z.string()),
    created: timestamp,
    expires_at: timestamp.nullable().meta({ description: 'When the plan expires if undecided.' }),
    next_run_at: timestamp.nullable(),
    tokens: z.int().meta({ description: 'AI tokens used to make the plan.' }),
    model: z.string(),
    decided_by: z.string().nullable().meta({ description: '`api` where a request decided; null while nobody has.' }),
    decision_note: z.string().nullable(),
    last_error: z.string().nullable(),
    steps: z.array(PlanStep),
    audience: z.null(),
    story_id: z.null(),
  })
  .meta({ id: 'Plan' });
export type Plan = z.infer<typeof Plan>;

export const PlanInput = z.object({ contact: uuid, goal: goal.optional() });

const note = text(500).optional();
export const Decision = z.object({ note });

export const StepChange = z.object({
  body: messageBody.optional(),
  channel: channel.optional(),
  channel_locked: SendMessageParams.shape.channel_locked.optional(),
  goal: goal.optional(),
  stage: integerId.optional(),
});

export const planPath = z.object({ plan_id: integerId.meta({ param: { id: 'PlanId' } }) });
export const stepPath = planPath.extend({ step_id: integerId.meta({ param: { id: 'StepId' } }) });
