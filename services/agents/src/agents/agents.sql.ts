import type { AgentInput, AgentStatus } from '@customer-platform/contracts/agents';
import { countSerially, type Fragment, readUnderLock, type Sql, withinPageBytes } from '@customer-platform/service-kit';

/** A pipeline, with its name at the time it was assigned to the agent. */
export interface AgentPipeline {
  id: number;
  name: string;
}

/** Writable fields of an agent. `model` is the agent's own model; empty if it uses the model of the settings. */
export interface AgentValues extends Omit<AgentInput, 'pipelines'> {
  pipelines: AgentPipeline[];
}

export interface AgentRow extends AgentValues {
  id: number;
  status: AgentStatus;
  /** The agent's own model, else the model of the settings; empty if neither is set. */
  used_model: string;
  has_draft: boolean;
  live_version: number | null;
  /** Number of the latest workflow version; 0 if none was published. */
  last_version: number;
  was_live: boolean;
  created_at: Date;
}

const columns = (tx: Sql) => tx`
  a.id, a.name, a.role, a.status, a.model, a.daily_limit, a.approval_mode, a.approval_timeout_seconds, a.actions,
  a.collections, a.draft is not null as has_draft, a.live_version, a.last_version, a.was_live, a.created_at,
  coalesce(nullif(a.model, ''), (select s.model from settings s where s.account_id = a.account_id), '') as used_model,
  (select coalesce(json_agg(json_build_object('id', p.pipeline_id, 'name', p.name) order by p.position, p.pipeline_id), '[]')
   from agent_pipelines p where p.account_id = a.account_id and p.agent_id = a.id) as pipelines`;

/** Returns an agent, even an archived one, or undefined if the account has none with this id. */
export async function selectAgent(tx: Sql, accountId: string, id: number): Promise<AgentRow | undefined> {
  const [row] = await tx<AgentRow[]>`
    select ${columns(tx)} from agents a where a.account_id = ${accountId} and a.id = ${id}`;
  return row;
}

/** Locks the agent and its workflow against other changes, then reads the agent. Rows that reference it can still be written. */
export async function lockAgent(tx: Sql, accountId: string, id: number): Promise<AgentRow | undefined> {
  const lock = tx`
    select 1 from agents where account_id = ${accountId} and id = ${id} for no key update`;
  return await readUnderLock(lock, () => selectAgent(tx, accountId, id));
}

/** Returns the agents with an id below `beforeId`, newest first, without archived ones. Includes their sizes; returns at most a page's bytes. */
export async function listAgentRows(
  tx: Sql,
  accountId: string,
  beforeId: number | undefined,
  limit: number,
): Promise<(AgentRow & { bytes: number })[]> {
  const sized: Fragment = tx`
    with shown as materialized (
      select ${columns(tx)} from agents a
      where a.account_id = ${accountId} and a.status <> 'archived' ${beforeId === undefined ? tx`` : tx`and a.id < ${beforeId}`}
      order by a.id desc limit ${limit}
    )
    select *, octet_length(pipelines::text) + octet_length(role) as bytes from shown`;
  return await tx<(AgentRow & { bytes: number })[]>`${withinPageBytes(tx, sized, tx`id desc`)}`;
}

/** Returns the agents that are not archived or have one of these ids, ordered by id. */
export async function selectAgentsFor(tx: Sql, accountId: string, ids: readonly number[]): Promise<AgentRow[]> {
  return await tx<AgentRow[]>`
    select ${columns(tx)} from agents a
    where a.account_id = ${accountId} and (a.status <> 'archived' or a.id = any(${[...ids]}::bigint[])) order by a.id`;
}

const insertPipelines = (tx: Sql, agent: Fragment, pipelines: readonly AgentPipeline[]) => tx`
  insert into agent_pipelines (account_id, agent_id, pipeline_id, name, position)
  select agent.account_id, agent.id, given.id, given.name, given.position
  from ${agent} as agent cross join unnest(
    ${pipelines.map(({ id }) => id)}::bigint[], ${pipelines.map(({ name }) => name)}::text[]
  ) with ordinality as given (id, name, position)`;

/** Counts the agents that are not archived. Other creations of the account wait until the transaction ends. */
export async function countAgents(tx: Sql, accountId: string): Promise<number> {
  return await countSerially(
    tx,
    `agents ${accountId}`,
    tx`agents where account_id = ${accountId} and status <> 'archived'`,
  );
}

/** Counts the archived agents that were created since an instant. */
export async function countArchivedSince(tx: Sql, accountId: string, since: Date): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from agents
    where account_id = ${accountId} and status = 'archived' and created_at >= ${since}`;
  return row!.count;
}

/** Inserts an agent as a draft. Returns its id. */
export async function insertAgent(tx: Sql, accountId: string, values: AgentValues, now: Date): Promise<number> {
  const { pipelines, ...columns } = values;
  const row = { ...columns, account_id: accountId, status: 'draft', created_at: now };
  const [added] = await tx<{ id: number }[]>`
    with added as (insert into agents ${tx(row)} returning account_id, id),
      given as (${insertPipelines(tx, tx`added`, pipelines)})
    select id from added`;
  return added!.id;
}

/** Replaces all writable fields of an agent. The caller must have locked the agent. */
export async function updateAgentRow(tx: Sql, accountId: string, id: number, values: AgentValues): Promise<void> {
  const { name, role, model, daily_limit, approval_mode, approval_timeout_seconds, actions, collections } = values;
  const emptied = tx`delete from agent_pipelines where account_id = ${accountId} and agent_id = ${id}`.execute();
  const replaced = tx`
    with changed as (
      update agents set name = ${name}, role = ${role}, model = ${model}, daily_limit = ${daily_limit},
        approval_mode = ${approval_mode}, approval_timeout_seconds = ${approval_timeout_seconds},
        actions = ${actions}::text[], collections = ${collections}::bigint[]
      where account_id = ${accountId} and id = ${id} returning account_id, id
    )
    ${insertPipelines(tx, tx`changed`, values.pipelines)}`.execute();
  await Promise.all([emptied, replaced]);
}

/** Makes an agent live or paused. The caller must have locked the agent. */
export async function updateAgentStatus(
  tx: Sql,
  accountId: string,
  id: number,
  status: 'live' | 'paused',
): Promise<void> {
  await tx`
    update agents set status = ${status}, was_live = was_live or ${status} = 'live'
    where account_id = ${accountId} and id = ${id}`;
}

/** Archives an agent permanently and removes it from its pipelines. */
export async function archiveAgentRow(tx: Sql, accountId: string, id: number): Promise<void> {
  await tx`
    with left_behind as (delete from agent_pipelines where account_id = ${accountId} and agent_id = ${id})
    update agents set status = 'archived' where account_id = ${accountId} and id = ${id}`;
}

/** Deletes an agent that was never live, with its workflow. */
export async function deleteAgentRow(tx: Sql, accountId: string, id: number): Promise<void> {
  await tx`delete from agents where account_id = ${accountId} and id = ${id}`;
}

/** Returns the ids that are collections of the account. */
export async function selectCollectionIds(tx: Sql, accountId: string, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const rows = await tx<{ id: number }[]>`
    select id from collections where account_id = ${accountId} and id = any(${[...ids]}::bigint[])`;
  return new Set(rows.map(({ id }) => id));
}
