import { storedContact } from '@customer-platform/contact-copy';
import type { PlanTrigger } from '@customer-platform/contracts/agents';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { JsonValue, Sql, TraceHeaders } from '@customer-platform/service-kit';

/** A request for a plan. */
export interface PlanRequest {
  accountId: string;
  /** Null if planning selects the agent. */
  agentId: number | null;
  contactId: string;
  /** 0 until the number is known. */
  contactNumber: number;
  trigger: PlanTrigger;
  triggerText: string;
  triggerChannel: Channel | null;
  /** Id of the message or step that triggers the plan. It triggers one plan even if it is redelivered. */
  triggerId: string | null;
  /** Number of earlier plans in the chain of follow-ups. */
  followUps: number;
  goal: string;
  trace: TraceHeaders | null;
}

/** Inserts a plan without steps that is due to be made now. Returns its id, or undefined if `triggerId` already triggered a plan. */
export async function insertPlanRequest(tx: Sql, request: PlanRequest, now: Date): Promise<number | undefined> {
  const { accountId, agentId, contactId, contactNumber, trigger, triggerText, triggerChannel } = request;
  const { triggerId, followUps, goal, trace } = request;
  const [row] = await tx<{ id: number }[]>`
    insert into plans (account_id, agent_id, workflow_version, contact_id, contact_number, trigger, trigger_text, trigger_channel,
      trigger_id, follow_ups, goal, status, approval_mode, created_at, planning_due_at, trace)
    select ${accountId}::uuid, ${agentId}::bigint, a.live_version, ${contactId}::uuid, ${contactNumber}::bigint, ${trigger},
      ${triggerText}, ${triggerChannel}, ${triggerId}::uuid, ${followUps}::smallint, ${goal}, 'running',
      coalesce(a.approval_mode, 'plan'), ${now}::timestamptz, ${now}::timestamptz, ${trace && tx.json(trace)}::jsonb
    from (select 1) as one left join agents a on a.account_id = ${accountId} and a.id = ${agentId}
    on conflict (account_id, trigger_id) where trigger_id is not null do nothing
    returning id`;
  return row?.id;
}

/** An inbound message that triggers a plan. */
export interface InboundRequest {
  account_id: string;
  contact_id: string;
  text: string;
  channel: Channel;
  message_id: string;
  trace: TraceHeaders | null;
}

/** Inserts a plan for each message to an account with a live agent that works a pipeline. A redelivered message gets no second plan. */
export async function insertInboundRequests(tx: Sql, requests: readonly InboundRequest[], now: Date): Promise<void> {
  await tx`
    insert into plans (account_id, contact_id, trigger, trigger_text, trigger_channel, trigger_id, goal, status, created_at,
      planning_due_at, trace)
    select account_id, ${storedContact(tx, tx`asked.account_id`, tx`asked.contact_id`)}, 'inbound_message', text, channel, message_id, '', 'running', ${now}, ${now}, trace
    from jsonb_to_recordset(${tx.json(requests as unknown as JsonValue)}) as asked (
      account_id uuid, contact_id uuid, text text, channel text, message_id uuid, trace jsonb)
    where exists (
      select from agents a join agent_pipelines p on p.account_id = a.account_id and p.agent_id = a.id
      where a.account_id = asked.account_id and a.status = 'live')
    on conflict (account_id, trigger_id) where trigger_id is not null do nothing`;
}
