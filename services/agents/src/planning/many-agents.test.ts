import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { selectAgentOfPipeline, selectWorkedPipelines } from './planning.sql.ts';

let account: TestAccount;

const platform = await startPlatform({ services: ['agents'] });
const sql = platform.database('agents');
afterAll(() => platform.stop());
beforeEach(async () => {
  account = await platform.account();
});

/** Adds agents that all work the same pipelines; returns their ids, ascending. */
async function addAgents(status: string, count: number, pipelines: number[]): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    with added as (
      insert into agents (account_id, name, role, status, model, approval_mode, approval_timeout_seconds, actions, collections, created_at)
      select ${account.id}, n::text, '', ${status}, '', 'none', 60, '{}', '{}', now() from generate_series(1, ${count}::int) as n
      returning account_id, id
    ), given as (
      insert into agent_pipelines (account_id, agent_id, pipeline_id, name)
      select account_id, id, pipeline, '' from added cross join unnest(${pipelines}::bigint[]) as pipeline
    )
    select id from added order by id`;
  return rows.map(({ id }) => id);
}

it('of many agents that work the same pipelines each pipeline is read once, and of the agents the one that plans', async () => {
  const [paused] = await addAgents('paused', 1, [7, 9]);
  const live = await addAgents('live', 100, [7, 8]);
  expect([...(await selectWorkedPipelines(sql, account.id))]).toEqual([7, 8]);
  expect(paused).toBeLessThan(live[0]!);
  expect(await selectAgentOfPipeline(sql, account.id, 7)).toBe(live[0]);
  expect(await selectAgentOfPipeline(sql, account.id, 9)).toBeUndefined();
});
