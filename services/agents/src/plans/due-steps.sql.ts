import { joinContact } from '@customer-platform/contact-copy';
import type { PlanStatus } from '@customer-platform/contracts/agents';
import { type Claim, claimed, type DueRow, type DueTable, type Sql } from '@customer-platform/service-kit';
import type { StepRow } from './plans.sql.ts';

export const planSteps: DueTable = {
  name: 'plan_steps',
  key: { account_id: 'uuid', id: 'bigint' },
  due: 'due_at',
  attempts: 'tries',
  error: 'last_error',
};

/** A claimed step, with the fields of its plan that running it needs. */
export interface ClaimedStep extends DueRow, Pick<StepRow, 'id' | 'action' | 'params' | 'key'> {
  plan_id: number;
  began_at: Date;
  plan_status: PlanStatus;
  /** True if the step's action is switched on for the agent now. It may have changed since planning. */
  is_switched_on: boolean;
  contact_id: string;
  /** True if the contact, or the surviving contact, was deleted. */
  is_contact_deleted: boolean;
  deal_id: string | null;
  /** The inbound message that triggered the plan; null for other triggers. */
  reply_to: string | null;
}

/** Claims due steps, except steps whose plan is locked. */
export async function claimSteps(sql: Sql, { due, now, leasedUntil }: Claim): Promise<ClaimedStep[]> {
  return await sql<ClaimedStep[]>`
    with due as (${due}), held as (
      select due.id as step_id, p.*
      -- Lateral, so that each row is found through the primary key even if statistics are from when the tables were empty.
      from due cross join lateral (
        select p.account_id, p.status, p.agent_id, p.contact_id, p.deal_id, p.trigger, p.trigger_id, p.trace
        from plan_steps s join plans p on p.account_id = s.account_id and p.id = s.plan_id
        where s.account_id = due.account_id and s.id = due.id
        for update of p skip locked) as p
    ), claimed as (
      update plan_steps s set status = 'running', ${claimed(sql, planSteps, leasedUntil)},
        began_at = coalesce(s.began_at, ${now})
      from held where s.account_id = held.account_id and s.id = held.step_id
      returning s.account_id, s.id, s.plan_id, s.action, s.params, s.key, s.tries as attempts, s.began_at
    )
    select s.*, p.status as plan_status, p.deal_id, p.trace,
      case when p.trigger = 'inbound_message' then p.trigger_id end as reply_to, coalesce(survivor.id, c.id, p.contact_id) as contact_id,
      coalesce(survivor.deleted, c.deleted, false) as is_contact_deleted, coalesce(s.action = any(a.actions), false) as is_switched_on
    from claimed s join held p on p.account_id = s.account_id and p.step_id = s.id
      left join agents a on a.account_id = p.account_id and a.id = p.agent_id ${joinContact(sql, 'p')}`;
}
