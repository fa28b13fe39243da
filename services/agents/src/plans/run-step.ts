import type { AccountContext } from '@customer-platform/contracts/core';
import { addDealNote, moveDealToStage } from '@customer-platform/contracts/crm';
import { takeMessage } from '@customer-platform/contracts/messaging';
import type { Bus } from '@customer-platform/service-kit';
import type { ClaimedStep } from './due-steps.sql.ts';
import { isRunning, type StepEnd } from './plan-state.ts';

/** Returns why a due step must not run; undefined if it may. A module or action may be off, or the account suspended or deleted. */
export function refusalOfStep(
  { action, is_switched_on }: ClaimedStep,
  account: AccountContext | null,
): string | undefined {
  if (account?.suspended) return 'account_suspended: The account is suspended';
  if (!account?.modules.includes('agents')) return 'AI agents is switched off';
  const needsDeals = action === 'add_note' || action === 'move_stage';
  if (needsDeals && !account.modules.includes('crm')) return 'Pipelines is switched off';
  return is_switched_on ? undefined : `${action} is switched off for the agent`;
}

/**
 * Runs a step by a request to another service, with the step's idempotency key. Returns the step's end, or undefined for a follow-up,
 * which needs no other service. Throws if there is no reply; the step must then be retried.
 */
export async function runStep(bus: Bus, step: ClaimedStep): Promise<StepEnd | undefined> {
  if (step.is_contact_deleted) return { error: 'The contact was deleted' };
  const { account_id, plan_id, key, contact_id: contact, deal_id: deal, params } = step;
  if ('goal' in params) return undefined;
  if (!isRunning({ status: step.plan_status }))
    return { error: 'The plan ended while the step was running; whether the step was done is unknown' };
  if ('channel' in params) {
    const { channel, body } = params;
    const reply = step.reply_to === null ? {} : { reply_to: step.reply_to };
    const message = { key, contact, channel, body, reference: `plan-${plan_id}`, needs_channel: true, ...reply };
    const taken = await bus.ask(takeMessage, account_id, message);
    return taken.message === null ? { error: taken.refusal! } : { result: { message: taken.message } };
  }
  if (deal === null) return { error: 'The plan has no deal' };
  const { refusal } =
    'stage' in params
      ? await bus.ask(moveDealToStage, account_id, { key, deal, stage: params.stage })
      : await bus.ask(addDealNote, account_id, { key, deal, body: params.body });
  return refusal === null ? { result: { deal } } : { error: refusal };
}
