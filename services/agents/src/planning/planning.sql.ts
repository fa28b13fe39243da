import type { PlanTrigger } from '@customer-platform/contracts/agents';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { Database, Sql, TraceHeaders } from '@customer-platform/service-kit';

/**
 * A plan that is being made: nobody else makes it before `leased_until`, which `renewLeases` moves on. `planning_tries` tells this
 * claim from every other that goes on: each counts one up, and only the last one ever counts down, as its end.
 */
export interface Claim {
  account_id: string;
  id: number;
  agent_id: number | null;
  contact_id: string;
  trigger: PlanTrigger;
  trigger_text: string;
  trigger_channel: Channel | null;
  trigger_id: string | null;
  follow_ups: number;
  goal: string;
  created_at: Date;
  /** Attempts, with this one. */
  planning_tries: number;
  trace: TraceHeaders | null;
  leased_until: Date;
}

/** Numbers of plans that can be begun. */
export interface FreeSlots {
  /** Of all accounts together. */
  free: number;
  /** Of these, kept for accounts without a plan in the making. */
  kept: number;
  /** Bound for one account, unless `accounts` has its own. */
  perAccount: number;
  accounts: readonly { account_id: string; running: number; most: number }[];
}

/** Most due plans that one statement looks at. */
const maxLookedAt = 200;

/**
 * Claims plans that are due, as many as `slots` has room for. Each counts as its account's first, second, … in the making: firsts
 * go before seconds, and so on, and among these what has been due longest. Only firsts get the slots that are kept. So one account's
 * many hold up no other's, however long each takes.
 */
export async function claimPlans(
  sql: Database,
  now: Date,
  leasedUntil: Date,
  { free, kept, perAccount, accounts }: FreeSlots,
): Promise<Claim[]> {
  // Who can have no more is not looked at, so that its many do not hide what others wait for.
  const isFull = ({ running, most }: FreeSlots['accounts'][number]) => running >= most || (running > 0 && free <= kept);
  const full = accounts.filter(isFull).map(({ account_id }) => account_id);
  const others = accounts.filter((account) => !isFull(account));
  return await sql<Claim[]>`
    with due as materialized (
      select account_id, id, planning_due_at from plans
      where planning_due_at <= ${now} and account_id <> all(${full}::uuid[])
      order by planning_due_at, id limit ${maxLookedAt}
    ), counted as (
      select due.*, coalesce(known.most, ${perAccount}) as most,
        coalesce(known.running, 0) + row_number() over (partition by due.account_id order by due.planning_due_at, due.id) as nth
      from due
      left join unnest(${others.map(({ account_id }) => account_id)}::uuid[], ${others.map(({ running }) => running)}::integer[],
        ${others.map(({ most }) => most)}::integer[]) as known (account_id, running, most) on known.account_id = due.account_id
    ), ranked as (
      select counted.*, row_number() over (order by nth, planning_due_at, id) as place from counted where nth <= most
    ), picked as (
      select p.account_id, p.id
      from ranked r join plans p on p.account_id = r.account_id and p.id = r.id
      where (r.nth = 1 or r.place <= ${free - kept}) and p.planning_due_at <= ${now}
      order by r.place limit ${free} for update of p skip locked
    ), claimed as (
      update plans p set planning_due_at = ${leasedUntil}, planning_tries = p.planning_tries + 1
      from picked where p.account_id = picked.account_id and p.id = picked.id
      returning p.*
    )
    select account_id, id, agent_id, contact_id, trigger, trigger_text, trigger_channel, trigger_id, follow_ups, goal, created_at,
      planning_tries, trace, planning_due_at as leased_until
    from claimed order by created_at, id`;
}

/**
 * Moves the leases of claims on to `leasedUntil`, but of those that have ended or were claimed by others. Waits for nobody: a plan
 * that is being written is passed over, and keeps the lease that it has.
 */
export async function renewLeases(sql: Database, claims: readonly Claim[], leasedUntil: Date): Promise<void> {
  const renewed = await sql<Pick<Claim, 'account_id' | 'id'>[]>`
    with held as (
      select p.account_id, p.id
      from unnest(${claims.map(({ account_id }) => account_id)}::uuid[], ${claims.map(({ id }) => id)}::bigint[],
        ${claims.map(({ leased_until }) => leased_until.toISOString())}::text[]::timestamptz[]) as claimed (account_id, id, leased_until)
      join plans p on p.account_id = claimed.account_id and p.id = claimed.id and p.planning_due_at = claimed.leased_until
      for update of p skip locked
    )
    update plans p set planning_due_at = ${leasedUntil}
    from held where p.account_id = held.account_id and p.id = held.id
    returning p.account_id, p.id`;
  const keys = new Set(renewed.map(({ account_id, id }) => `${account_id} ${id}`));
  for (const claim of claims) if (keys.has(`${claim.account_id} ${claim.id}`)) claim.leased_until = leasedUntil;
}

const isHeld = (sql: Sql, { account_id, id, planning_tries }: Claim) => sql`
  account_id = ${account_id} and id = ${id} and status = 'running' and planning_due_at is not null
    and planning_tries = ${planning_tries}`;

/**
 * Locks a plan that is still being made under this claim. Returns its agent, null where none was found yet; undefined where the plan was
 * cancelled or claimed again.
 */
export async function holdPlan(tx: Sql, claim: Claim): Promise<{ agent_id: number | null } | undefined> {
  const [row] = await tx<{ agent_id: number | null }[]>`
    select agent_id from plans where ${isHeld(tx, claim)} for update`;
  return row;
}

/** Writes which agent makes a plan, which must be held; from then on the plan is shown. */
export async function assignAgent(tx: Sql, { account_id, id }: Claim, agentId: number): Promise<void> {
  await tx`
    update plans p set agent_id = a.id, workflow_version = a.live_version, approval_mode = a.approval_mode
    from agents a
    where p.account_id = ${account_id} and p.id = ${id} and a.account_id = ${account_id} and a.id = ${agentId}`;
}

/** The facts of a plan that are shown before it is made. */
export interface Assignment {
  contactNumber: number;
  deal: { id: string; number: number; title: string; stage: string; pipeline: { id: number; name: string } } | null;
  model: string;
}

/** Writes the contact, the deal and the model of a plan, which must be held. */
export async function assignPlan(tx: Sql, { account_id, id }: Claim, assignment: Assignment): Promise<void> {
  const { contactNumber, deal, model } = assignment;
  await tx`
    update plans set contact_number = ${contactNumber}, deal_id = ${deal?.id ?? null}, deal_number = ${deal?.number ?? null},
      deal_title = ${deal?.title ?? null}, deal_stage = ${deal?.stage ?? null}, pipeline_id = ${deal?.pipeline.id ?? null},
      pipeline_name = ${deal?.pipeline.name ?? null}, model = ${model}
    where account_id = ${account_id} and id = ${id}`;
}

/** Removes a plan for which there is no agent. */
export async function dropPlan(sql: Sql, claim: Claim): Promise<void> {
  await sql`delete from plans where ${isHeld(sql, claim)} and agent_id is null`;
}

/** Postpones a plan; without `countsAsTry` the attempt does not count. */
export async function postponePlan(sql: Sql, claim: Claim, dueAt: Date, countsAsTry: boolean): Promise<void> {
  await sql`
    update plans set planning_due_at = ${dueAt}, planning_tries = planning_tries - ${countsAsTry ? 0 : 1}
    where ${isHeld(sql, claim)}`;
}

/** The live agents of an account, each with the ids of its pipelines, by id. */
export async function selectLiveAgents(sql: Sql, accountId: string): Promise<{ id: number; pipelines: number[] }[]> {
  return await sql<{ id: number; pipelines: number[] }[]>`
    select a.id, array_agg(p.pipeline_id) as pipelines
    from agents a join agent_pipelines p on p.account_id = a.account_id and p.agent_id = a.id
    where a.account_id = ${accountId} and a.status = 'live' group by a.id order by a.id`;
}
