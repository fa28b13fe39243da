import type { Plan, PlanStep } from '@customer-platform/contracts/agents';
import { formatInstant } from '@customer-platform/service-kit';
import { openStatuses } from './plan-state.ts';
import type { PlanRow, StepRow } from './plans.sql.ts';

/** Returns a plan as the API shows it, with times in the account's time zone. */
export function toPlan(row: PlanRow, timezone: string): Plan {
  const { id, trigger, goal, rationale, status, approval_mode, approval_reasons, tokens, model, steps } = row;
  const shown = (instant: Date | null) => instant && formatInstant(instant, timezone);
  return {
    id,
    agent: { id: row.agent_id, name: row.agent_name, role: row.agent_role },
    scope: 'contact',
    campaign_id: null,
    contact: { id: row.contact_number, uuid: row.contact_id, name: row.contact_name, msisdn: row.contact_phone },
    deal:
      row.deal_id === null
        ? null
        : { id: row.deal_number ?? 0, title: row.deal_title ?? '', stage: row.deal_stage ?? '' },
    pipeline: row.pipeline_id === null ? null : { id: row.pipeline_id, name: row.pipeline_name ?? '' },
    trigger,
    trigger_excerpt: row.trigger_excerpt,
    goal,
    rationale,
    status,
    approval_mode,
    approval_reasons,
    created: formatInstant(row.created_at, timezone),
    expires_at: shown(row.expires_at),
    next_run_at: shown(nextRunOf(row)),
    tokens,
    model,
    decided_by: row.decided_by,
    decision_note: row.decision_note,
    last_error: row.last_error,
    steps: steps.map((step) => toStep(step, timezone)),
    audience: null,
    story_id: null,
  };
}

function toStep(row: StepRow, timezone: string): PlanStep {
  const { id, action, title, detail, reason, requires_approval, status, result, editable, params } = row;
  return {
    id,
    order: row.position,
    action,
    title,
    body: 'body' in params ? params.body : null,
    detail,
    reason,
    run_at: formatInstant(row.run_at, timezone),
    requires_approval,
    status,
    result,
    editable,
    params,
  };
}

/** Returns the time of the first pending step of an open plan; null if it has none. */
function nextRunOf({ status, steps }: PlanRow): Date | null {
  if (!openStatuses.includes(status)) return null;
  const times = steps.filter((step) => step.status === 'pending').map((step) => step.run_at.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}
