import type { WorkflowBlock, WorkflowVersion } from '@customer-platform/contracts/agents';
import type { JsonValue, PageBounds, Sql } from '@customer-platform/service-kit';
import { isOpenPlan } from '../plans/plans.sql.ts';

/** A version in the format of lists. */
export interface VersionRow extends Omit<WorkflowVersion, 'at' | 'by'> {
  at: Date;
}

/** Maximum bytes of blocks as PostgreSQL serializes them on each read. It writes numbers such as 1e-300 in full. */
export const maxWrittenOut = 524_288;

/** Writes the draft. Writes nothing and returns false if it would exceed `maxWrittenOut` bytes. */
export async function updateDraft(
  tx: Sql,
  accountId: string,
  agentId: number,
  { blocks, at }: { blocks: readonly WorkflowBlock[]; at: Date },
): Promise<boolean> {
  const { count } = await tx`
    update agents set draft = given.blocks, draft_at = ${at}
    from (select ${tx.json(blocks as unknown as JsonValue)}::jsonb as blocks offset 0) as given
    where account_id = ${accountId} and id = ${agentId} and octet_length(given.blocks::text) <= ${maxWrittenOut}`;
  return count === 1;
}

/** Returns the draft and when it was written; undefined if the agent has no draft. */
export async function selectDraft(tx: Sql, accountId: string, agentId: number) {
  const [row] = await tx<{ blocks: WorkflowBlock[]; updated_at: Date }[]>`
    select draft as blocks, draft_at as updated_at from agents
    where account_id = ${accountId} and id = ${agentId} and draft is not null`;
  return row;
}

/**
 * Publishes the next version of an agent's workflow, from the draft or from the version with this number. It is live at once. The caller
 * must have locked the agent, and the source must exist.
 */
export async function publishVersion(
  tx: Sql,
  accountId: string,
  agentId: number,
  { source, note, at }: { source: 'draft' | { number: number }; note: string; at: Date },
): Promise<VersionRow> {
  const blocks =
    source === 'draft'
      ? tx`next.draft`
      : tx`(select v.blocks from workflow_versions v
            where v.account_id = next.account_id and v.agent_id = next.id and v.number = ${source.number})`;
  const [row] = await tx<VersionRow[]>`
    with next as (
      update agents set last_version = last_version + 1, live_version = last_version + 1
      where account_id = ${accountId} and id = ${agentId}
      returning account_id, id, last_version, draft
    )
    insert into workflow_versions (account_id, agent_id, number, note, at, blocks)
    select next.account_id, next.id, next.last_version, ${note}, ${at}::timestamptz, ${blocks} from next
    returning number, note, at, block_count as blocks, ai_block_count as ai_blocks, true as live, 0 as running`;
  return row!;
}

/** Returns the versions with numbers below `after`, newest first. `after` may exceed every stored number. */
export async function listVersionRows(
  tx: Sql,
  accountId: string,
  agentId: number,
  { after, limit }: PageBounds<number>,
): Promise<VersionRow[]> {
  return await tx<VersionRow[]>`
    with page as (
      select number, note, at, block_count, ai_block_count from workflow_versions
      where account_id = ${accountId} and agent_id = ${agentId} ${after === undefined ? tx`` : tx`and number < ${after}::bigint`}
      order by number desc limit ${limit}
    ), open_plans as (
      select workflow_version as number, count(*) as running from plans
      where account_id = ${accountId} and agent_id = ${agentId} and ${isOpenPlan(tx)}
        and workflow_version in (select number from page)
      group by workflow_version
    )
    select page.number, page.note, page.at, page.block_count as blocks, page.ai_block_count as ai_blocks,
      page.number = (select live_version from agents where account_id = ${accountId} and id = ${agentId}) as live,
      coalesce(open_plans.running, 0) as running
    from page left join open_plans using (number) order by page.number desc`;
}

/** Returns the blocks of a version; undefined if no version has this number. */
export async function selectBlocks(
  tx: Sql,
  accountId: string,
  agentId: number,
  number: number,
): Promise<WorkflowBlock[] | undefined> {
  const [row] = await tx<{ blocks: WorkflowBlock[] }[]>`
    select blocks from workflow_versions where account_id = ${accountId} and agent_id = ${agentId} and number = ${number}`;
  return row?.blocks;
}
