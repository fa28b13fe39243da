import type { Pipeline } from '@customer-platform/contracts/crm';
import { countSerially, type Fragment, readUnderLock, type Sql } from '@customer-platform/service-kit';

const columns = (tx: Sql) => tx`
  p.id, p.name,
  (select coalesce(json_agg(json_build_object('id', s.id, 'name', s.name, 'order', s.position) order by s.position), '[]')
   from stages s where s.account_id = p.account_id and s.pipeline_id = p.id) as stages`;

/** Returns a pipeline with its stages, or undefined if the account has no pipeline with this id. */
export async function selectPipeline(tx: Sql, accountId: string, id: number) {
  const [row] = await tx<Pipeline[]>`
    select ${columns(tx)} from pipelines p where p.account_id = ${accountId} and p.id = ${id}`;
  return row;
}

/** Locks the pipeline and its stages against changes, then reads it. Returns undefined if the account has no pipeline with this id. */
export async function lockPipeline(tx: Sql, accountId: string, id: number) {
  const lock = tx`select 1 from pipelines where account_id = ${accountId} and id = ${id} for update`;
  return await readUnderLock(lock, () => selectPipeline(tx, accountId, id));
}

/** Returns the pipelines with an id above `afterId`, oldest first. */
export async function listPipelineRows(tx: Sql, accountId: string, afterId: number, limit: number) {
  return await tx<Pipeline[]>`
    select ${columns(tx)} from pipelines p where p.account_id = ${accountId} and p.id > ${afterId}
    order by p.id limit ${limit}`;
}

/** Counts an account's pipelines. Other creations of the account wait until the transaction ends. */
export async function countPipelines(tx: Sql, accountId: string): Promise<number> {
  return await countSerially(tx, `pipelines ${accountId}`, tx`pipelines where account_id = ${accountId}`);
}

/** Inserts a pipeline with these stages, in their order. Returns its id. */
export async function insertPipeline(tx: Sql, accountId: string, name: string, stages: string[]): Promise<number> {
  const [row] = await tx<{ id: number }[]>`
    with added as (
      insert into pipelines (account_id, name) values (${accountId}, ${name}) returning account_id, id
    ), staged as (${insertStages(tx, tx`added`, stages)})
    select id from added`;
  return row!.id;
}

/**
 * Creates the account's default pipeline, unless it was created before. It is one statement, so concurrent calls wait for the one that
 * creates the pipeline.
 */
export async function ensureDefaultPipeline(tx: Sql, accountId: string) {
  await tx`
    with opened as (
      insert into openings (account_id) values (${accountId}) on conflict do nothing returning account_id
    ), added as (
      insert into pipelines (account_id, name) select account_id, 'Sales' from opened returning account_id, id
    )
    ${insertStages(tx, tx`added`, ['New', 'Qualified', 'Proposal'])}`;
}

const insertStages = (tx: Sql, pipeline: Fragment, names: string[]) => tx`
  insert into stages (account_id, pipeline_id, name, position)
  select pipeline.account_id, pipeline.id, stage.name, stage.position
  from ${pipeline} as pipeline cross join unnest(${names}::text[]) with ordinality as stage (name, position)
  order by stage.position`;

/** A stage of a pipeline's new state. An existing stage has its id, a new one null. */
export interface PlannedStage {
  id: number | null;
  name: string;
}

/** Sets the pipeline's name and its complete, ordered stages. Removed stages must have no deals. */
export async function updatePipelineRow(
  tx: Sql,
  accountId: string,
  { id, name, stages }: { id: number; name: string; stages: readonly PlannedStage[] },
) {
  const ids = stages.map((stage) => stage.id);
  const names = stages.map((stage) => stage.name);
  await tx`
    with planned as (
      select * from unnest(${ids}::bigint[], ${names}::text[]) with ordinality as stage (id, name, position)
    ), renamed as (
      update pipelines set name = ${name} where account_id = ${accountId} and id = ${id}
    ), removed as (
      delete from stages where account_id = ${accountId} and pipeline_id = ${id}
        and id not in (select id from planned where id is not null)
    ), kept as (
      update stages s set name = planned.name, position = planned.position from planned
      where s.account_id = ${accountId} and s.pipeline_id = ${id} and s.id = planned.id
    )
    insert into stages (account_id, pipeline_id, name, position)
    select ${accountId}::uuid, ${id}::bigint, name, position from planned where id is null order by position`;
}

/**
 * Returns the name of the first of these stages that has deals in any status, or undefined. Locks the stages, so that no deal enters them
 * until the transaction ends. Waits for deals that are entering.
 */
export async function stageWithDeals(tx: Sql, accountId: string, ids: number[]): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  // Two statements, since only the second one's snapshot includes changes that the first one waited for.
  const held = tx`
    select 1 from stages where account_id = ${accountId} and id = any(${ids}::bigint[]) order by id for update`;
  const found = tx<{ name: string }[]>`
    select s.name from stages s where s.account_id = ${accountId} and s.id = any(${ids}::bigint[])
      and exists (select 1 from deals d where d.account_id = s.account_id and d.stage_id = s.id)
    order by s.position limit 1`;
  const [stage] = await readUnderLock(held, () => found);
  return stage?.name;
}

/** Deletes a pipeline and its stages. The stages must have no deals. */
export async function deletePipelineRow(tx: Sql, accountId: string, id: number) {
  const emptied = tx`delete from stages where account_id = ${accountId} and pipeline_id = ${id}`.execute();
  const removed = tx`delete from pipelines where account_id = ${accountId} and id = ${id}`.execute();
  await Promise.all([emptied, removed]);
}

/** A reference to a stage, with its pipeline. */
export interface StageRef {
  pipeline_id: number;
  pipeline_name: string;
  stage_id: number;
  stage_name: string;
}

/**
 * Returns the first stage, by pipeline and position, that matches the given ids, or undefined. Locks the stage, so that it cannot be
 * removed until the transaction ends.
 */
export async function lockStage(
  tx: Sql,
  accountId: string,
  { pipeline, stage }: { pipeline?: number | undefined; stage?: number | undefined },
) {
  const [row] = await tx<StageRef[]>`
    select p.id as pipeline_id, p.name as pipeline_name, s.id as stage_id, s.name as stage_name
    from pipelines p join stages s on s.account_id = p.account_id and s.pipeline_id = p.id
    where p.account_id = ${accountId}
      ${pipeline === undefined ? tx`` : tx`and p.id = ${pipeline}`} ${stage === undefined ? tx`` : tx`and s.id = ${stage}`}
    order by p.id, s.position limit 1 for key share of s`;
  return row;
}

/** Returns the given pipelines with their stages, and the given stages. Omits ids that do not exist. */
export async function selectPipelinesAndStages(
  tx: Sql,
  accountId: string,
  { pipelines, stages, namesOnly }: { pipelines: number[]; stages: number[]; namesOnly?: boolean | undefined },
) {
  const [foundPipelines, foundStages] = await Promise.all([
    tx<Pipeline[]>`
      select ${namesOnly ? tx`p.id, p.name, '[]'::json as stages` : columns(tx)} from pipelines p
      where p.account_id = ${accountId} and p.id = any(${pipelines}::bigint[]) order by p.id`,
    tx<{ id: number; name: string; pipeline: number }[]>`
      select id, name, pipeline_id as pipeline from stages
      where account_id = ${accountId} and id = any(${stages}::bigint[]) order by id`,
  ]);
  return { pipelines: foundPipelines, stages: foundStages };
}

/** Returns the id of a stage's pipeline, or undefined if the account has no such stage. */
export async function selectPipelineOfStage(tx: Sql, accountId: string, stageId: number): Promise<number | undefined> {
  const [row] = await tx<{ pipeline_id: number }[]>`
    select pipeline_id from stages where account_id = ${accountId} and id = ${stageId}`;
  return row?.pipeline_id;
}
