import { contactColumns, idsOfContact, joinContact } from '@customer-platform/contact-copy';
import type { ApprovalMode, PlanStatus, PlanStep, PlanTrigger } from '@customer-platform/contracts/agents';
import {
  countWithin,
  type Fragment,
  type JsonValue,
  type KeyedRows,
  type PageBounds,
  readUnderLock,
  type Sql,
  type TraceHeaders,
  withinPageBytes,
} from '@customer-platform/service-kit';
import { openStatuses, type PlannedPlan } from './plan-state.ts';

/** Params of a step, by its action. */
export type StepParams = PlanStep['params'];

/** A step as the planner makes it. */
export interface NewStep extends Omit<PlanStep, 'id' | 'order' | 'body' | 'run_at' | 'result'> {
  /** Minutes from the approval, or from the planning if no approval is needed; null in older plans. */
  delay_minutes: number | null;
  run_at: Date;
  /** Instant when the step is due; while it runs, when its lease expires. Null before its turn and after its end. */
  due_at: Date | null;
}

export interface StepRow extends NewStep, Pick<PlanStep, 'id' | 'result'> {
  /** From 1. */
  position: number;
  /** Idempotency key of the step's requests to other services. */
  key: string;
}

/** A plan with its agent, its contact (the surviving contact if merged) and its steps in order. */
export interface PlanRow {
  account_id: string;
  id: number;
  agent_id: number;
  agent_name: string;
  agent_role: string;
  contact_id: string;
  contact_name: string;
  contact_phone: string;
  contact_number: number;
  deal_id: string | null;
  deal_number: number | null;
  deal_title: string | null;
  deal_stage: string | null;
  pipeline_id: number | null;
  pipeline_name: string | null;
  trigger: PlanTrigger;
  /** Beginning of the trigger's text. */
  trigger_excerpt: string;
  follow_ups: number;
  goal: string;
  rationale: string;
  status: PlanStatus;
  approval_mode: ApprovalMode;
  approval_reasons: string[];
  created_at: Date;
  expires_at: Date | null;
  lapses_at: Date | null;
  tokens: number;
  model: string;
  decided_by: string | null;
  decision_note: string | null;
  last_error: string | null;
  planning_due_at: Date | null;
  trace: TraceHeaders | null;
  steps: StepRow[];
}

/** Maximum length of the trigger's text that is shown, in code points. */
const excerptLength = 200;

export type PlanRef = Pick<PlanRow, 'account_id' | 'id'>;

/** Condition for open plans. It uses literals instead of parameters, so that PostgreSQL can use the partial index plans_listed_open. */
export const isOpenPlan = (tx: Sql) => tx.unsafe(`status in (${openStatuses.map((one) => `'${one}'`).join(', ')})`);

/** Selects plans. The steps are a subquery by index, which runs only for the returned rows. */
const shown = (tx: Sql, plans: Fragment) => tx`
  select p.account_id, p.id, p.agent_id, a.name as agent_name, a.role as agent_role, ${contactColumns(tx)},
    p.contact_number, p.deal_id, p.deal_number, p.deal_title, p.deal_stage, p.pipeline_id, p.pipeline_name, p.trigger,
    left(p.trigger_text, ${excerptLength}) as trigger_excerpt, p.follow_ups, p.goal, p.rationale, p.status, p.approval_mode,
    p.approval_reasons, p.created_at, p.expires_at, p.lapses_at, p.tokens, p.model, p.decided_by, p.decision_note, p.last_error,
    p.planning_due_at, p.trace,
    coalesce((select json_agg(s order by s.position) from plan_steps s where s.account_id = p.account_id and s.plan_id = p.id), '[]')
      as steps
  from ${plans} join agents a on a.account_id = p.account_id and a.id = p.agent_id ${joinContact(tx, 'p')}`;

/** Parses the instants of steps, which are strings in JSON. */
function withDates<Row extends PlanRow>(rows: readonly Row[]): Row[] {
  const datedStep = (step: StepRow) => {
    return { ...step, run_at: new Date(step.run_at), due_at: step.due_at && new Date(step.due_at) };
  };
  return rows.map((row) => ({ ...row, steps: row.steps.map(datedStep) }));
}

/** Returns a plan. Returns undefined if the account has no plan with this id, or the plan has no agent yet. */
export async function selectPlan(tx: Sql, accountId: string, id: number): Promise<PlanRow | undefined> {
  const rows = await tx<PlanRow[]>`${shown(tx, tx`plans p`)} where p.account_id = ${accountId} and p.id = ${id}`;
  return withDates(rows)[0];
}

/** Locks a plan and its steps against other changes, then reads the plan. Returns undefined as selectPlan does. */
export async function lockPlan(tx: Sql, accountId: string, id: number): Promise<PlanRow | undefined> {
  const lock = tx`select 1 from plans where account_id = ${accountId} and id = ${id} for update`;
  return await readUnderLock(lock, () => selectPlan(tx, accountId, id));
}

/** Approximate maximum bytes of steps changed in one transaction. Building the events blocks the event loop, and each has the steps twice. */
const maxChangedBytes = 1_048_576;

/** A plan, with the approximate bytes of its steps in the API's format. */
type SizedPlan = PlanRef & { size: number };

/** The approximate bytes of the steps of a plan `p`. */
const sizeOfSteps = (tx: Sql): Fragment => tx`(
  select coalesce(sum(octet_length(s.params::text) + octet_length(s.title) + octet_length(s.reason)), 0) from plan_steps s
  where s.account_id = p.account_id and s.plan_id = p.id)::float8`;

/** Returns the first plans that fit into one transaction, at least one. */
function changedTogether<Plan extends SizedPlan>(plans: readonly Plan[]): Plan[] {
  const sizes = plans.map(({ size }) => size);
  return plans.slice(0, countWithin(sizes, { items: plans.length, bytes: maxChangedBytes }));
}

/** Plans by the deadline for deciding them or their steps. */
export const lapsingPlans: KeyedRows = {
  name: 'plans',
  key: { account_id: 'uuid', id: 'bigint' },
  due: 'lapses_at',
};

/**
 * Returns the plans that `due` selects and locks, round-robin by account: at least one and at most about 1 MiB. `isCut` is true if the
 * size limit excluded some of them.
 */
export async function takeLapsedPlans(tx: Sql, due: Fragment): Promise<{ rows: PlanRow[]; isCut: boolean }> {
  const locked = await tx<SizedPlan[]>`
    with picked as materialized (${due})
    select account_id, id, row_number() over (partition by account_id order by p.lapses_at, id) as nth, ${sizeOfSteps(tx)} as size
    from picked join plans p using (account_id, id) order by nth, account_id`;
  const taken = changedTogether(locked);
  return { rows: await selectPlans(tx, taken), isCut: taken.length < locked.length };
}

/** Splits plans into parts for one transaction each, small plans first. A part has at most about 1 MiB or is a single plan. */
export async function inParts(sql: Sql, named: readonly PlanRef[]): Promise<PlanRef[][]> {
  const sized = await sql<SizedPlan[]>`
    select p.account_id, p.id, ${sizeOfSteps(sql)} as size from ${namedPlans(sql, named)} order by size, p.account_id, p.id`;
  const parts: SizedPlan[][] = [];
  for (let rest = [...sized]; rest.length > 0; rest = rest.slice(parts.at(-1)!.length))
    parts.push(changedTogether(rest));
  return parts;
}

/** Locks and returns plans. Omits plans for which selectPlan returns undefined. */
export async function lockPlans(tx: Sql, named: readonly PlanRef[]): Promise<PlanRow[]> {
  // Locks in id order, like every bulk update, to avoid deadlocks.
  const lock = tx`select 1 from ${namedPlans(tx, named)} order by p.account_id, p.id for update of p`;
  return await readUnderLock(lock, () => selectPlans(tx, named));
}

async function selectPlans(tx: Sql, named: readonly PlanRef[]): Promise<PlanRow[]> {
  if (named.length === 0) return [];
  return withDates(await tx<PlanRow[]>`${shown(tx, namedPlans(tx, named))} order by p.account_id, p.id`);
}

/** Joins the named plans as p, each once. */
const namedPlans = (tx: Sql, named: readonly PlanRef[]): Fragment => tx`
  (select distinct * from unnest(${named.map(({ account_id }) => account_id)}::uuid[], ${named.map(({ id }) => id)}::bigint[])) as named (account_id, id)
  join plans p on p.account_id = named.account_id and p.id = named.id`;

/** Returns whether the account has a listable plan with this id, which is one with an agent. */
export async function hasPlan(tx: Sql, accountId: string, id: number): Promise<boolean> {
  const rows = await tx`select 1 from plans where account_id = ${accountId} and id = ${id} and agent_id is not null`;
  return rows.length === 1;
}

/** Filters of a list. */
export interface PlanFilter {
  /** awaiting: the plan or one of its steps needs a decision. open: the plan still has work to do. */
  status?: 'awaiting' | 'open' | undefined;
  agentId?: number | undefined;
  /** A surviving contact. Plans of contacts merged into it match too. */
  contactId?: string | undefined;
}

/**
 * Returns plans after the plan `after`, newest first. Includes their sizes; returns at most a page's bytes. The limit applies before the
 * joins. For a contact, it also applies to each of its ids, through the index that begins with the contact.
 */
export async function listPlanRows(
  tx: Sql,
  accountId: string,
  { status, agentId, contactId }: PlanFilter,
  { after, limit }: PageBounds<number>,
): Promise<(PlanRow & { bytes: number })[]> {
  const page = (further: Fragment) => tx`
    select * from plans p
    where p.account_id = ${accountId} and p.agent_id is not null ${further}
    ${status === 'awaiting' ? tx`and p.lapses_at is not null` : tx``}
    ${status === 'open' ? tx`and ${isOpenPlan(tx)}` : tx``}
    ${agentId === undefined ? tx`` : tx`and p.agent_id = ${agentId}`}
    ${after === undefined ? tx`` : tx`and p.id < ${after}`}
    order by p.id desc limit ${limit}`;
  const pageOfContact = (id: string) => tx`
    select p.* from (${idsOfContact(tx, accountId, id)}) as named
    cross join lateral (${page(tx`and p.contact_id = named.id`)}) as p
    order by p.id desc limit ${limit}`;
  const plans: Fragment = tx`(${contactId ? pageOfContact(contactId) : page(tx``)}) as p`;
  // The API shows a step's text twice: in its params and as its body.
  const sized: Fragment = tx`
    with shown as materialized (${shown(tx, plans)})
    select *, 2 * octet_length(steps::text) + octet_length(trigger_excerpt) + octet_length(rationale) as bytes from shown`;
  return withDates(await tx<(PlanRow & { bytes: number })[]>`${withinPageBytes(tx, sized, tx`id desc`)}`);
}

/** Writes the result of planning, with its steps, to a locked plan. */
export async function writePlannedPlan(
  tx: Sql,
  accountId: string,
  id: number,
  planned: PlannedPlan<NewStep> & { goal: string; rationale: string },
): Promise<void> {
  const { goal, rationale, status, approval_mode, approval_reasons, lapses_at, planning_due_at, steps } = planned;
  await tx`
    update plans set goal = ${goal}, rationale = ${rationale}, status = ${status}, approval_mode = ${approval_mode},
      approval_reasons = ${[...approval_reasons]}::text[], expires_at = ${lapses_at}, lapses_at = ${lapses_at},
      planning_due_at = ${planning_due_at}
    where account_id = ${accountId} and id = ${id}`;
  if (steps.length > 0) await insertSteps(tx, accountId, id, steps);
}

/** Inserts the steps of a plan in order, from 1. */
export async function insertSteps(
  tx: Sql,
  accountId: string,
  planId: number,
  steps: readonly NewStep[],
): Promise<void> {
  const numbered = steps.map((step, index) => ({ ...step, position: index + 1 }));
  await tx`
    insert into plan_steps (account_id, plan_id, position, action, title, reason, params, detail, editable, requires_approval,
      status, delay_minutes, run_at, due_at)
    select ${accountId}, ${planId}, position, action, title, reason, params, detail, editable, requires_approval, status,
      delay_minutes, run_at, due_at
    from jsonb_to_recordset(${json(tx, numbered)}) as new (position smallint, action text, title text, reason text, params jsonb,
      detail text, editable text[], requires_approval boolean, status text, delay_minutes integer, run_at timestamptz, due_at timestamptz)
    order by position`;
}

/**
 * Writes the state of locked plans and their steps, with one statement per table. Skips a step that is still running, since its runner
 * extends the lease without the plan's lock. Sets `failed_at` of plans that fail to `now`.
 */
export async function savePlans(tx: Sql, plans: readonly PlanRow[], now: Date): Promise<void> {
  const steps = plans.flatMap(({ account_id, steps: [...all] }) => all.map((step) => ({ ...step, account_id })));
  const rows = plans.map(
    ({ account_id, id, status, decided_by, decision_note, lapses_at, last_error, planning_due_at }) => {
      return { account_id, id, status, decided_by, decision_note, lapses_at, last_error, planning_due_at };
    },
  );
  const statements = [
    tx`
      update plans p set status = new.status, decided_by = new.decided_by, decision_note = new.decision_note,
        lapses_at = new.lapses_at, last_error = new.last_error, planning_due_at = new.planning_due_at,
        failed_at = case when new.status = 'failed' and p.status <> 'failed' then ${now} else p.failed_at end
      from jsonb_to_recordset(${json(tx, rows)}) as new (account_id uuid, id bigint, status text, decided_by text,
        decision_note text, lapses_at timestamptz, last_error text, planning_due_at timestamptz)
      where p.account_id = new.account_id and p.id = new.id`,
    tx`
      update plan_steps s set status = new.status, result = new.result, run_at = new.run_at, due_at = new.due_at
      from jsonb_to_recordset(${json(tx, steps)}) as new (account_id uuid, id bigint, status text, result jsonb,
        run_at timestamptz, due_at timestamptz)
      where s.account_id = new.account_id and s.id = new.id
        and (s.status <> 'running' or new.status <> 'running')
        and (s.status, s.run_at, s.due_at, s.result) is distinct from (new.status, new.run_at, new.due_at, new.result)`,
  ];
  await Promise.all(statements.map((statement) => statement.execute()));
}

/** Writes the params of a step and the detail that the API shows for them. */
export async function updateStepParams(tx: Sql, accountId: string, { id, params, detail }: StepRow): Promise<void> {
  await tx`
    update plan_steps set params = ${json(tx, params)}, detail = ${detail} where account_id = ${accountId} and id = ${id}`;
}

function json(tx: Sql, value: object) {
  return tx.json(value as unknown as JsonValue);
}

/** Returns how many of an account's plans failed since a time, and the error of the latest failure. */
export async function measureFailed(sql: Sql, accountId: string, since: Date) {
  const [row] = await sql<{ failed: number; last_error: string | null }[]>`
    with failed as (
      select failed_at, last_error from plans where account_id = ${accountId} and failed_at >= ${since}
    )
    select (select count(*)::int from failed) as failed, (select last_error from failed order by failed_at desc limit 1) as last_error`;
  return row!;
}
