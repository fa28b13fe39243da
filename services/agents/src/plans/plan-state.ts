import type { ApprovalMode, PlanStatus, StepStatus } from '@customer-platform/contracts/agents';

/** State of a step. Decisions, expiry and step results read and change it. */
export interface StepState {
  status: StepStatus;
  /** Minutes from the approval, or from the planning if no approval is needed. Null in older plans: the step is due at `run_at`. */
  delay_minutes: number | null;
  run_at: Date;
  due_at: Date | null;
  result: Record<string, unknown> | null;
}

/** State of a plan. */
export interface PlanState<Step extends StepState = StepState> {
  status: PlanStatus;
  approval_mode: ApprovalMode;
  planning_due_at: Date | null;
  lapses_at: Date | null;
  decided_by: string | null;
  decision_note: string | null;
  last_error: string | null;
  /** In order. */
  steps: Step[];
}

/** An outcome of a plan that emits an event; see change-plan.ts. */
export type PlanOutcome = 'awaiting_approval' | 'approved' | 'rejected' | 'expired' | 'completed' | 'failed';

/** Result of a decision: a sentence saying why it is refused, or the plan's outcome, if any. */
export type Decided = { refusal: string } | { became?: 'approved' | 'rejected' | 'completed' };

/** A decision through the API. */
export interface Decision {
  by: string;
  note: string | undefined;
  now: Date;
}

/** Result of a step that was not decided in time. */
const lapsedResult = { error: 'Nobody decided in time' };

/** Statuses of a plan that still has work to do. */
export const openStatuses: readonly PlanStatus[] = ['awaiting_approval', 'running'];
/** Statuses of a step that has not begun. */
export const unbegunStatuses: readonly StepStatus[] = ['pending', 'awaiting_approval'];
const endedStatuses: readonly StepStatus[] = ['done', 'skipped', 'cancelled', 'failed'];

const isOpen = ({ status }: Pick<PlanState, 'status'>) => openStatuses.includes(status);
export const isRunning = ({ status }: { status: PlanStatus | StepStatus }) => status === 'running';
export const hasEnded = (step: Pick<StepState, 'status'>) => endedStatuses.includes(step.status);
const isUndecided = (step: StepState) => step.status === 'awaiting_approval';
const hasLapsed = (step: StepState) => step.status === 'skipped' && step.result !== null;
const isPastDeadline = ({ lapses_at }: PlanState, now: Date) => lapses_at !== null && lapses_at <= now;
const refused = (refusal: string): Decided => ({ refusal });
const changedNothing: Decided = {};

const lapsed = 'The plan has expired: nobody decided in time';
const stillPlanning = 'The plan is still being made; cancel it, or decide when it has steps';
const needsNoApproval = 'The plan needs no approval; it can be cancelled while it runs';

/** A plan and its steps at the end of planning. */
export type PlannedPlan<Step> = Pick<PlanState, 'status' | 'approval_mode' | 'planning_due_at' | 'lapses_at'> & {
  approval_reasons: readonly string[];
  steps: (Step & Omit<StepState, 'result'> & { requires_approval: boolean })[];
};

const defaultReasons = {
  plan: "The agent's plans need approval",
  step: "Each step of the agent's plans needs approval",
};

/** Ends the planning of a plan, in its agent's approval mode. A plan without steps is completed, since it needs no approval. */
export function endPlanning<Step extends Pick<StepState, 'run_at' | 'delay_minutes'>>(
  { approval_mode, approval_timeout_seconds }: { approval_mode: ApprovalMode; approval_timeout_seconds: number },
  { steps, approvalReasons }: { steps: readonly Step[]; approvalReasons: readonly string[] },
  now: Date,
): { plan: PlannedPlan<Step>; became: PlanOutcome | undefined } {
  const isAsked = approval_mode !== 'none' && steps.length > 0;
  const requires_approval = approval_mode === 'step';
  const status = requires_approval ? ('awaiting_approval' as const) : ('pending' as const);
  const plan: PlannedPlan<Step> = {
    status: steps.length === 0 ? 'completed' : isAsked ? 'awaiting_approval' : 'running',
    approval_mode,
    approval_reasons: isAsked && approvalReasons.length === 0 ? [defaultReasons[approval_mode]] : approvalReasons,
    planning_due_at: null,
    lapses_at: isAsked ? new Date(now.getTime() + approval_timeout_seconds * 1_000) : null,
    steps: steps.map((step) => ({ ...step, status, requires_approval, due_at: null })),
  };
  startNext(plan, now);
  return { plan, became: isAsked ? 'awaiting_approval' : steps.length === 0 ? 'completed' : undefined };
}

/** Ends a plan that could not be made. */
export function failPlanning(plan: PlanState, lastError: string): 'failed' {
  plan.last_error = lastError;
  end(plan, 'failed');
  return 'failed';
}

/** Sets `due_at` of the first step that has not ended, if the plan is running and the step is decided. */
export function startNext(
  plan: Pick<PlanState, 'status' | 'planning_due_at'> & { steps: Omit<StepState, 'result'>[] },
  now: Date,
): void {
  if (!isRunning(plan) || plan.planning_due_at !== null) return;
  const next = plan.steps.find((step) => !hasEnded(step));
  if (next?.status === 'pending') next.due_at ??= next.run_at > now ? next.run_at : now;
}

/** Approves every undecided step. */
export function approve(plan: PlanState, { by, note, now }: Decision): Decided {
  if (plan.approval_mode === 'none') return refused(needsNoApproval);
  if (plan.planning_due_at !== null) return refused(stillPlanning);
  const undecided = plan.steps.filter(isUndecided);
  const isAwaiting = plan.status === 'awaiting_approval';
  if (isAwaiting || (plan.status === 'running' && undecided.length > 0)) {
    if (isPastDeadline(plan, now)) return refused(lapsed);
    for (const step of plan.approval_mode === 'step' ? undecided : plan.steps) approveOne(step, now);
    plan.lapses_at = null;
    if (isAwaiting) begin(plan, by, note);
    startNext(plan, now);
    return isAwaiting ? { became: 'approved' } : changedNothing;
  }
  if (plan.steps.some(hasLapsed)) return refused(lapsed);
  if (wasApproved(plan)) return changedNothing;
  return refused(`${statusSentence(plan)}; it cannot be approved`);
}

/** Rejects the plan: none of its steps runs. */
export function reject(plan: PlanState, { by, note, now }: Decision): Decided {
  if (plan.status === 'rejected') return changedNothing;
  if (plan.approval_mode === 'none') return refused(needsNoApproval);
  if (plan.planning_due_at !== null) return refused(stillPlanning);
  if (plan.status === 'awaiting_approval') {
    if (isPastDeadline(plan, now)) return refused(lapsed);
    end(plan, 'rejected');
    Object.assign(plan, { decided_by: by, decision_note: note ?? null });
    return { became: 'rejected' };
  }
  if (plan.status !== 'running') return refused(`${statusSentence(plan)}; it cannot be rejected`);
  const others = plan.steps.some(isUndecided) ? 'reject its undecided steps, or cancel it' : 'cancel it';
  return refused(`The plan was approved and is running; ${others}`);
}

/** Cancels the plan: steps that have not begun do not run, also not after a running step. */
export function cancel(plan: PlanState, { by, note, now }: Decision): Decided {
  if (plan.status === 'cancelled') return changedNothing;
  if (!isOpen(plan)) return refused(`${statusSentence(plan)}; it can no longer be cancelled`);
  if (plan.status === 'awaiting_approval' && isPastDeadline(plan, now)) return refused(lapsed);
  end(plan, 'cancelled');
  Object.assign(plan, { decided_by: by, decision_note: note ?? plan.decision_note });
  return changedNothing;
}

/** Approves one step of a plan whose steps are decided one by one. */
export function approveStep(plan: PlanState, step: StepState, { by, note, now }: Decision): Decided {
  const refusal = refusalOfStep(plan, step, now);
  if (refusal !== undefined) return refused(refusal);
  if (!isUndecided(step)) {
    const isApproved = step.status !== 'skipped' && step.status !== 'cancelled';
    return isApproved ? changedNothing : refused(`The step is ${step.status}; it cannot be approved`);
  }
  approveOne(step, now);
  const isFirst = plan.status === 'awaiting_approval';
  if (isFirst) begin(plan, by, note);
  if (!plan.steps.some(isUndecided)) plan.lapses_at = null;
  startNext(plan, now);
  return isFirst ? { became: 'approved' } : changedNothing;
}

/** Rejects one step, which is then skipped. Rejects the plan if this was its last undecided step and none was approved. */
export function rejectStep(plan: PlanState, step: StepState, { by, note, now }: Decision): Decided {
  const refusal = refusalOfStep(plan, step, now);
  if (refusal !== undefined) return refused(refusal);
  if (step.status === 'skipped') return changedNothing;
  if (!isUndecided(step)) return refused(`The step is ${step.status}; it cannot be rejected`);
  step.status = 'skipped';
  if (!plan.steps.some(isUndecided)) plan.lapses_at = null;
  if (plan.status === 'awaiting_approval' && !plan.steps.some(isUndecided)) {
    end(plan, 'rejected');
    Object.assign(plan, { decided_by: by, decision_note: note ?? null });
    return { became: 'rejected' };
  }
  return continuePlan(plan, now);
}

/** Returns a sentence saying why a step cannot be changed now; undefined if it can. */
export function refusalOfChange(plan: PlanState, step: StepState, now: Date): string | undefined {
  const isDecided = plan.approval_mode === 'step' ? !isUndecided(step) : plan.status !== 'awaiting_approval';
  if (isPastDeadline(plan, now) && !isDecided) return lapsed;
  return isDecided ? 'The step is already decided; only an undecided step can be changed' : undefined;
}

/** Expires a plan that was not decided in time, or skips its undecided steps. Returns the plan's outcome, if any. */
export function lapse(plan: PlanState, now: Date): 'expired' | 'completed' | undefined {
  if (!isPastDeadline(plan, now)) return undefined;
  if (plan.status === 'awaiting_approval') {
    end(plan, 'expired');
    return 'expired';
  }
  plan.lapses_at = null;
  if (plan.status !== 'running') return undefined;
  for (const step of plan.steps.filter(isUndecided)) Object.assign(step, { status: 'skipped', result: lapsedResult });
  return continuePlan(plan, now).became;
}

/** End of a step: its result, or the reason why it failed. */
export type StepEnd = { result: Record<string, unknown> } | { error: string };

/** Ends a step. If its plan has already ended, nothing else changes. Returns the plan's outcome, if any. */
export function endStep(
  plan: PlanState,
  step: StepState,
  outcome: StepEnd,
  now: Date,
): 'completed' | 'failed' | undefined {
  if (step.status !== 'running') return undefined;
  const failed = 'error' in outcome;
  Object.assign(step, { due_at: null, status: failed ? 'failed' : 'done', result: failed ? outcome : outcome.result });
  if (plan.status !== 'running') return undefined;
  if (!failed) return continuePlan(plan, now).became;
  plan.last_error = `Step ${plan.steps.indexOf(step) + 1}: ${outcome.error}`;
  end(plan, 'failed');
  return 'failed';
}

/** Starts the next step of a running plan, or completes the plan if no step is left. */
function continuePlan(plan: PlanState, now: Date): { became?: 'completed' } {
  if (plan.status !== 'running' || !plan.steps.every(hasEnded)) {
    startNext(plan, now);
    return {};
  }
  plan.status = 'completed';
  return { became: 'completed' };
}

/** Approves a step. Its delay starts now. */
function approveOne(step: StepState, now: Date): void {
  step.status = 'pending';
  if (step.delay_minutes !== null) step.run_at = delayed(now, step.delay_minutes);
}

/** Returns the instant `minutes` after `from`. */
export function delayed(from: Date, minutes: number): Date {
  return new Date(from.getTime() + minutes * 60_000);
}

function begin(plan: PlanState, by: string, note: string | undefined): void {
  Object.assign(plan, { status: 'running', decided_by: by, decision_note: note ?? null });
}

/** Ends the plan and cancels the steps that have not begun. */
function end(plan: PlanState, status: 'rejected' | 'expired' | 'cancelled' | 'failed'): void {
  Object.assign(plan, { status, planning_due_at: null, lapses_at: null });
  for (const step of plan.steps) {
    if (unbegunStatuses.includes(step.status)) Object.assign(step, { status: 'cancelled', due_at: null });
  }
}

/** Returns a sentence saying why the step cannot be decided by itself; undefined if it can, or is already decided. */
function refusalOfStep(plan: PlanState, step: StepState, now: Date): string | undefined {
  if (plan.approval_mode !== 'step') return "The plan's steps are not decided one by one; approve or reject the plan";
  if (hasLapsed(step) || (isUndecided(step) && isPastDeadline(plan, now))) return lapsed;
  return undefined;
}

/** Returns whether the plan was approved and not canceled afterward. */
function wasApproved({ status, decided_by }: PlanState): boolean {
  return decided_by !== null && (status === 'running' || status === 'completed' || status === 'failed');
}

/** Returns the plan's status as the beginning of a sentence. */
function statusSentence({ status }: PlanState): string {
  return status === 'expired' ? lapsed : `The plan is ${status}`;
}
