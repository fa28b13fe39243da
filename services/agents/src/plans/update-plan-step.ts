import * as contract from '@customer-platform/contracts/agents';
import { getContactProfile } from '@customer-platform/contracts/cdp';
import { ApiError, type Operation } from '@customer-platform/contracts/core';
import { findStages } from '@customer-platform/contracts/crm';
import { type Channel, getConversation } from '@customer-platform/contracts/messaging';
import type { Call } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { refuseWithoutPipelines } from '../settings/pipelines.ts';
import { findStep } from './find-step.ts';
import { toPlan } from './plan.ts';
import { checkPlanSize } from './plan-size.ts';
import { refusalOfChange } from './plan-state.ts';
import { type StepParams, type StepRow, updateStepParams } from './plans.sql.ts';
import { channelRule, reachableChannels } from './reachable-channels.ts';

export const updatePlanStep = implement(contract.updatePlanStep, {
  find: findStep,
  async handle(call) {
    const { account, tx, body, found, now, fail } = call;
    const { plan, step } = found;
    const given = Object.entries(body).filter(([, value]) => value !== undefined);
    for (const [name, value] of given) refuseParam(step, name, value);
    const refusal = given.length > 0 ? refusalOfChange(plan, step, now) : undefined;
    if (refusal !== undefined) return fail('invalid_state', refusal);
    const before = step.params as Record<string, unknown>;
    if (given.every(([name, value]) => before[name] === value)) return toPlan(plan, account.timezone);

    const former = toPlan(plan, account.timezone);
    step.params = { ...before, ...Object.fromEntries(given) } as StepParams;
    if ('stage' in step.params) step.detail = stageName(call, plan.pipeline_id, step.params.stage);
    else if (body.channel !== undefined) step.detail = channelName(call, plan.contact_id, body.channel);
    else if ('goal' in step.params) step.detail = step.params.goal;
    const changed = toPlan(plan, account.timezone);
    checkPlanSize(former, changed, given[0]![0]);
    await updateStepParams(tx, account.id, step);
    return changed;
  },
});

/** Throws invalid_request if a param is not editable or its value is invalid for the action. */
function refuseParam({ action, editable }: StepRow, name: string, value: unknown): void {
  if (!editable.includes(name)) {
    const others = editable.length === 0 ? 'this step has no editable params' : `only ${editable.join(', ')} can`;
    throw new ApiError('invalid_request', `${name} cannot be changed: ${others}`, { field: name });
  }
  if (action !== 'add_note') return;
  // Only a note's body needs this check, since the contract applies the limit of a message's body to it.
  const issue = contract.AddNoteParams.shape.body.safeParse(value).error?.issues[0];
  if (issue) throw new ApiError('invalid_request', `${name} ${issue.message}`, { field: name });
}

type StepCall = Pick<Call<Operation>, 'account' | 'prefetch'>;

/** Returns the name of a stage. Throws invalid_request, field stage, if the pipeline has no stage with this id. */
function stageName({ account, prefetch }: StepCall, pipeline: number | null, stage: number): string {
  refuseWithoutPipelines(account, 'stage');
  const { stages } = prefetch(({ ask }) => ask(findStages, { pipelines: [], stages: [stage] }));
  const found = stages.find((each) => each.id === stage && each.pipeline === pipeline);
  if (found) return found.name;
  throw new ApiError('invalid_request', "stage must be the id of a stage of the plan's pipeline", { field: 'stage' });
}

/** Returns the channel. Throws invalid_request, field channel, if it is not set up or does not reach the contact. */
function channelName({ account, prefetch }: StepCall, contact: string, channel: Channel): Channel {
  const reachable = prefetch(async ({ ask }) => {
    const [profile, conversation] = await Promise.all([
      ask(getContactProfile, { contact }),
      ask(getConversation, { contact, limit: 1 }),
    ]);
    return profile.contact ? reachableChannels(account, profile.contact, conversation) : [];
  });
  if (reachable.includes(channel)) return channel;
  throw new ApiError('invalid_request', `channel ${channelRule(reachable)}`, { field: 'channel' });
}
