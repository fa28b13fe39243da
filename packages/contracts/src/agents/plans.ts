import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { integerId, text, timestamp, uuid } from '../core/fields.ts';
import { AgentSummary, agentAction, approvalMode } from './agents.ts';

export const planStatus = z
  .enum(['awaiting_approval', 'running', 'completed', 'rejected', 'expired', 'cancelled', 'failed'])
  .meta({
    description:
      '`running`: the steps run; without steps, the agent is still making the plan. `expired`: nobody decided in time.',
  });
export type PlanStatus = z.infer<typeof planStatus>;

export const planTrigger = z.enum(['inbound_message', 'follow_up', 'manual']).meta({
  description:
    'What started the plan. `inbound_message`: the contact wrote. `follow_up`: a step of an earlier plan. `manual`: a request to `POST /v1/agents/{agent_id}/plans`.',
});
export type PlanTrigger = z.infer<typeof planTrigger>;

export const stepStatus = z
  .enum(['pending', 'awaiting_approval', 'running', 'done', 'skipped', 'cancelled', 'failed'])
  .meta({
    description:
      '`pending`: waits for its turn. `skipped`: rejected, or not decided in time. `cancelled`: the plan ended before the step began.',
  });
export type StepStatus = z.infer<typeof stepStatus>;

const messageBody = text(4_096, 1);
const noteBody = text(2_000, 1);
const goal = text(500, 1);
const sentOn = channel.meta({ description: 'Channel of the message. It must be set up and reach the contact.' });

export const SendMessageParams = z
  .object({
    channel: sentOn,
    body: messageBody.meta({ description: 'Text of the message, sent word for word.' }),
    channel_locked: z.boolean().meta({
      description: 'True if the channel cannot be changed, because the step replies to a message received on it.',
    }),
  })
  .meta({ id: 'SendMessageParams', description: 'Params of `send_message`.' });
export const AddNoteParams = z
  .object({ body: noteBody.meta({ description: 'Text to add to the notes of the deal.' }) })
  .meta({ id: 'AddNoteParams', description: 'Params of `add_note`.' });
export const FollowUpParams = z
  .object({ goal: goal.meta({ description: 'Goal of the next plan.' }) })
  .meta({ id: 'FollowUpParams', description: 'Params of `follow_up`.' });
export const MoveStageParams = z
  .object({ stage: integerId.meta({ description: "Id of the stage to move the deal to, in the deal's pipeline." }) })
  .meta({ id: 'MoveStageParams', description: 'Params of `move_stage`.' });

export const PlanStep = z
  .object({
    id: integerId.meta({ description: 'Id of the step in paths.' }),
    order: z
      .int()
      .meta({ description: 'Position, from 1. The step starts when it is due and all earlier steps have ended.' }),
    action: agentAction,
    title: z.string().meta({ description: 'What the step does, in a few words from the AI.' }),
    body: z.string().nullable().meta({ description: 'Text that the step sends or writes; null if it has none.' }),
    detail: z.string().nullable().meta({
      description: 'The channel, the goal of a follow-up, or the name of the stage; null for a note.',
    }),
    reason: z.string().meta({ description: 'Why the AI chose the step; may be empty.' }),
    run_at: timestamp.meta({
      description: 'When the step is due. Its delay begins with its approval, or with the planning if none is needed.',
    }),
    requires_approval: z.boolean().meta({
      description: 'True if the step is decided separately, as in plans with approval_mode `step`.',
    }),
    status: stepStatus,
    result: z
      .record(z.string(), z.unknown())
      .meta({ id: 'PlanStepResult', description: 'Outcome of a step.' })
      .nullable()
      .meta({
        description:
          '`message`, `deal` or `plan`: the id of what the step created or changed. `error`: why it failed or expired. Null until the step has ended.',
      }),
    editable: z.array(z.string()).meta({ description: 'Params that can be changed until the step is decided.' }),
    params: z
      .union([SendMessageParams, AddNoteParams, FollowUpParams, MoveStageParams])
      .meta({ description: 'Parameters of the action; the fields depend on `action`.' }),
  })
  .meta({ id: 'PlanStep', description: 'One action of a plan.' });
export type PlanStep = z.infer<typeof PlanStep>;

export const Plan = z
  .object({
    id: integerId.meta({ description: 'Id of the plan in paths. Its messages have the reference `plan-{id}`.' }),
    agent: AgentSummary,
    scope: z.enum(['contact']).meta({ description: 'Always `contact`: a plan is for one contact.' }),
    campaign_id: z.int().nullable().meta({ description: 'Always null.' }),
    contact: z
      .object({
        id: z.int().meta({ description: "The contact's number." }),
        uuid: z.guid().meta({ description: "The contact's id, as in other operations." }),
        name: z.string().meta({ description: "The contact's current name; may be empty." }),
        msisdn: z
          .string()
          .meta({ description: "The contact's current phone number in E.164; empty if there is none." }),
      })
      .meta({
        id: 'PlanContact',
        description: 'The contact that the plan is for; after a merge, the surviving contact.',
      }),
    deal: z
      .object({
        id: z.int().meta({ description: "The deal's number." }),
        title: z.string().meta({ description: "The deal's title when the plan was made." }),
        stage: z.string().meta({ description: "Name of the deal's stage when the plan was made." }),
      })
      .meta({ id: 'PlanDeal', description: 'A deal, as it was when the plan was made.' })
      .nullable()
      .meta({
        description:
          "The contact's newest open deal in a pipeline of the agent, as it was when the plan was made; null if there was none.",
      }),
    pipeline: z
      .object({
        id: integerId.meta({ description: 'Id of the pipeline.' }),
        name: z.string().meta({ description: "The pipeline's name when the plan was made." }),
      })
      .meta({ id: 'PlanPipeline', description: 'A pipeline, as it was when the plan was made.' })
      .nullable()
      .meta({ description: 'Pipeline of `deal`; null if there is no deal.' }),
    trigger: planTrigger,
    trigger_excerpt: z.string().meta({
      description: "First 200 characters of the contact's message or of the given goal; may be empty.",
    }),
    goal: z.string().meta({
      description: 'Goal of the plan, in the words of the AI. Until the plan is made: the given goal, if any.',
    }),
    rationale: z.string().meta({ description: 'Why the AI chose these steps; empty until the plan is made.' }),
    status: planStatus,
    approval_mode: approvalMode.meta({
      description: "How the plan is decided, `plan`, `step` or `none`: the agent's setting when the plan was made.",
    }),
    approval_reasons: z.array(z.string()).meta({
      description: 'What a person should check before approving the plan, in the words of the AI if it gave any.',
    }),
    created: timestamp.meta({ description: 'When the plan was requested or triggered.' }),
    expires_at: timestamp.nullable().meta({
      description: 'When the plan expires if nobody decides. Null if it needs no approval, or is still being made.',
    }),
    next_run_at: timestamp.nullable().meta({
      description: 'Earliest `run_at` of the pending steps of an open plan; null if there is none.',
    }),
    tokens: z.int().meta({ description: 'AI tokens used to make the plan.' }),
    model: z.string().meta({
      description: 'Model that made the plan; `simulated` in a sandbox, empty until a model is called.',
    }),
    decided_by: z.string().nullable().meta({ description: '`api` if a request decided; null if nobody has decided.' }),
    decision_note: z.string().nullable().meta({
      description: 'Note of the request that decided the plan, or why the platform canceled it; null if there is none.',
    }),
    last_error: z.string().nullable().meta({ description: 'Why the plan failed; otherwise null.' }),
    steps: z
      .array(PlanStep)
      .meta({ description: 'Steps in the order in which they run, at most 10; empty until the plan is made.' }),
    audience: z.null().meta({ description: 'Always null.' }),
    story_id: z.null().meta({ description: 'Always null.' }),
  })
  .meta({ id: 'Plan', description: 'Steps that an agent plans for a contact.' });
export type Plan = z.infer<typeof Plan>;

export const PlanInput = z.object({
  contact: uuid.meta({ description: 'Id of the contact to plan for.' }),
  goal: goal.optional().meta({
    description:
      'Goal of the plan; default: what the conversation asks for. In a sandbox, a JSON object with `steps` is used as the plan.',
  }),
});

const note = text(500).optional().meta({
  description:
    'Reason of the decision. It becomes `decision_note` if the request approves, rejects or cancels the plan, but not if it decides a later step.',
});
export const Decision = z.object({ note });

export const StepChange = z.object({
  body: messageBody.optional().meta({ description: 'Text of a message, or of a note of at most 2,000 characters.' }),
  channel: sentOn.optional(),
  channel_locked: SendMessageParams.shape.channel_locked.optional(),
  goal: FollowUpParams.shape.goal.optional(),
  stage: MoveStageParams.shape.stage.optional(),
});

export const planPath = z.object({
  plan_id: integerId.meta({ description: 'Id of a plan.', param: { id: 'PlanId' } }),
});
export const stepPath = planPath.extend({
  step_id: integerId.meta({ description: 'Id of a step of the plan.', param: { id: 'StepId' } }),
});
