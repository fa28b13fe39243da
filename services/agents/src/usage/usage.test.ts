import { instantOf } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addPlan, invalid, openCrew } from '../../test/agents.ts';
import { reserve, use } from '../../test/usage.ts';
import { dayBefore } from './day.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
platform.clock.set('2026-11-20T12:00:00Z');
const database = platform.database('agents');
afterAll(() => platform.stop());

const zone = 'Europe/Berlin';
const today = '2026-11-20';
const plan = (accountId: string, agentId: number, more: Parameters<typeof addPlan>[3] = {}) =>
  addPlan(database, accountId, agentId, { at: platform.clock.now(), ...more });
const report = (crew: Awaited<ReturnType<typeof openCrew>>, days?: number) =>
  crew.account.client.agents.usage.get(days === undefined ? {} : { query: { days: days as 7 } });

/** An account with two agents and two pipelines, with usage today, six days ago, and once before that. */
async function usedAccount() {
  const crew = await openCrew(platform);
  const { client, id: accountId } = crew.account;
  const other = await client.crm.pipelines.create({ body: { name: 'Other', stages: [{ name: 'One' }] } });
  const [ada, bo] = [
    await crew.agent({ pipelines: [crew.pipeline.id, other.id], daily_limit: 9_000 }),
    await crew.agent({ name: 'Bo', role: 'Helps', model: 'own' }),
  ];
  const price = { prompt: 2.5, completion: 10 };
  await client.agents.settings.update({
    body: {
      model: 'gpt-9',
      daily_budget: 50_000,
      pipeline_budgets: { [crew.pipeline.id]: 8_000 },
      prices: { 'gpt-9': price },
    },
  });
  const by = (agentId: number, day: string) => ({ accountId, agentId, day });
  const [now, before] = [today, dayBefore(today, 6)];
  await use(database, { ...by(ada.id, now), pipelineId: crew.pipeline.id }, [1_000, 200]);
  await use(database, { ...by(ada.id, now), pipelineId: crew.pipeline.id }, [0, 0], 'refused');
  await use(database, { ...by(ada.id, before), pipelineId: other.id }, [301, 1]);
  await use(database, { ...by(ada.id, before) }, [10, 0]);
  await use(database, { ...by(bo.id, before), provider: 'simulated', model: 'simulated' }, [5_000, 1]);
  await use(database, { ...by(bo.id, dayBefore(today, 7)) }, [70_000, 1]);
  await reserve(database, { ...by(bo.id, now), model: 'reserved' });
  await plan(accountId, ada.id);
  await plan(accountId, ada.id, { status: 'failed' });
  const start = instantOf(before, zone);
  await plan(accountId, bo.id, { at: start });
  await plan(accountId, bo.id, { at: new Date(start.getTime() - 1) });
  return { crew, ada, bo, other, now, before };
}

describe('the usage report', () => {
  it('of an account without agents is empty: every day has no tokens, and the cost is 0', async () => {
    const crew = await openCrew(platform);
    const empty = await report(crew);
    expect(empty).toEqual({
      range_days: 14,
      totals: { tokens: 0, prompt_tokens: 0, completion_tokens: 0, calls: 0, plans: 0, estimated_cost_usd: 0 },
      days: Array.from({ length: 14 }, (_, index) => ({ date: dayBefore(today, 13 - index), by_agent: {} })),
      agents: [],
      pipelines: [],
      models: [],
      uses: [],
      account: { tokens_today: 0, daily_budget: null },
    });
    for (const days of [7, 30]) {
      const { range_days, days: listed } = await report(crew, days);
      expect([range_days, listed.length, listed[0]!.date]).toEqual([days, days, dayBefore(today, days - 1)]);
    }
  });

  it.each(['0', '1', '8', '31', '14.5', 'x', ''])('has no range of %s days', async (days) => {
    const crew = await openCrew(platform);
    expect(await crew.account.request('GET', `/v1/agents/usage?days=${days}`)).toMatchObject(invalid('days'));
  });

  it('sums usage by day, agent, pipeline, model and purpose', async () => {
    const { crew, ada, bo, other, now, before } = await usedAccount();
    const week = await report(crew, 7);
    expect(week.totals).toEqual({
      tokens: 6_513,
      prompt_tokens: 6_311,
      completion_tokens: 202,
      calls: 5,
      plans: 3,
      estimated_cost_usd: 0.005_288,
    });
    const empty = Array.from({ length: 5 }, (_, index) => ({ date: dayBefore(now, 5 - index), by_agent: {} }));
    expect(week.days).toEqual([
      { date: before, by_agent: { [ada.id]: 312, [bo.id]: 5_001 } },
      ...empty,
      { date: now, by_agent: { [ada.id]: 1_200 } },
    ]);
    expect(week.agents).toEqual([
      {
        agent: { id: ada.id, name: 'Ada', role: 'Sells' },
        model: 'gpt-9',
        tokens_today: 1_200,
        daily_limit: 9_000,
        tokens: 1_512,
        calls: 4,
        plans: 2,
      },
      {
        agent: { id: bo.id, name: 'Bo', role: 'Helps' },
        model: 'own',
        tokens_today: 0,
        daily_limit: null,
        tokens: 5_001,
        calls: 1,
        plans: 1,
      },
    ]);
    expect(week.pipelines).toEqual([
      { id: crew.pipeline.id, name: 'Sales', tokens_today: 1_200, daily_budget: 8_000, tokens: 1_200 },
      { id: other.id, name: 'Other', tokens_today: 0, daily_budget: null, tokens: 302 },
    ]);
    expect(week.models).toEqual([
      { provider: 'simulated', model: 'simulated', tokens: 5_001, calls: 1, estimated_cost_usd: 0 },
      { provider: 'openai_compatible', model: 'gpt-9', tokens: 1_512, calls: 4, estimated_cost_usd: 0.005_288 },
    ]);
    expect(week.uses).toEqual([
      { agent: 'Bo', kind: 'planning', label: 'Planning', tokens: 5_001, calls: 1 },
      { agent: 'Ada', kind: 'planning', label: 'Planning', tokens: 1_512, calls: 4 },
    ]);
    expect(week.account).toEqual({ tokens_today: 1_200, daily_budget: 50_000 });
    expect((await report(crew)).totals).toMatchObject({ tokens: 76_514, plans: 4 });
  });

  it('lists at most 1,000 pipelines, those with the most tokens', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    await database`
      insert into agent_pipelines (account_id, agent_id, pipeline_id, name, position)
      select ${crew.account.id}, ${id}, 1_000_000 + n, 'P' || n, n from generate_series(1, 1005) as n`;
    const used = 1_001_005;
    await use(database, { accountId: crew.account.id, agentId: id, day: today, pipelineId: used }, [5, 1]);
    const { pipelines } = await report(crew);
    expect(pipelines).toHaveLength(1_000);
    expect(pipelines.at(-1)).toMatchObject({ id: used, name: 'P1005', tokens: 6 });
    expect(pipelines.at(-2)).toMatchObject({ id: 1_000_999, tokens: 0 });
  });

  it('has no cost if a used model has no price', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    const by = { accountId: crew.account.id, agentId: id, day: today };
    await crew.account.client.agents.settings.update({ body: { prices: { priced: { prompt: 1, completion: 1 } } } });
    await use(database, { ...by, model: 'priced' }, [1_000_000, 0]);
    await use(database, { ...by, model: 'constructor' }, [0, 0], 'refused');
    expect((await report(crew)).totals.estimated_cost_usd).toBe(1);
    await use(database, { ...by, model: 'constructor' }, [1, 0]);
    const { models, totals } = await report(crew);
    expect([totals.estimated_cost_usd, models.map((model) => model.estimated_cost_usd)]).toEqual([null, [1, null]]);
  });

  it('lists an archived agent with activity in the period, and the purpose of its tokens', async () => {
    const crew = await openCrew(platform);
    const [used, planned, idle, old] = [
      await crew.liveAgent({ name: 'Used' }),
      await crew.liveAgent({ name: 'Planned' }),
      await crew.liveAgent({ name: 'Idle' }),
      await crew.liveAgent({ name: 'Old' }),
    ];
    const by = (agentId: number, day: string) => ({ accountId: crew.account.id, agentId, day });
    await use(database, by(used.id, today), [5, 5]);
    await use(database, by(old.id, dayBefore(today, 20)), [5, 5]);
    await plan(crew.account.id, planned.id, { status: 'completed' });
    for (const { id } of [used, planned, idle, old]) await crew.remove(id);
    const names = async (days: number) => (await report(crew, days)).agents.map(({ agent }) => agent.name);
    expect([await names(7), await names(30)]).toEqual([
      ['Used', 'Planned'],
      ['Used', 'Planned', 'Old'],
    ]);
    expect((await report(crew)).uses).toMatchObject([{ agent: 'Used', tokens: 10 }]);
  });

  it('shows current names of pipelines, and the last names of deleted ones', async () => {
    const crew = await openCrew(platform);
    const { client } = crew.account;
    const add = (name: string) => client.crm.pipelines.create({ body: { name, stages: [{ name: 'One' }] } });
    const [kept, gone, left, unknown] = [await add('Kept'), await add('Gone'), await add('Left'), await add('Unknown')];
    const agent = await crew.agent({ pipelines: [kept.id, gone.id] });
    const by = { accountId: crew.account.id, agentId: agent.id, day: today };
    for (const pipeline of [gone, left, unknown]) await use(database, { ...by, pipelineId: pipeline.id }, [1, 1]);
    await plan(crew.account.id, agent.id, { pipeline: { id: left.id, name: 'Left' } });
    await client.crm.pipelines.update({ params: { pipeline_id: kept.id }, body: { name: 'Renamed' } });
    for (const { id } of [gone, left, unknown]) await client.crm.pipelines.delete({ params: { pipeline_id: id } });
    const named = async () => (await report(crew)).pipelines.map(({ name, tokens }) => [name, tokens]);
    const others = [
      ['Gone', 2],
      ['Left', 2],
      [`Pipeline ${unknown.id}`, 2],
    ];
    expect(await named()).toEqual([['Renamed', 0], ...others]);
    await platform.admin('PATCH', `/admin/accounts/${crew.account.id}`, { modules: { crm: { on: false } } });
    await waitFor('Pipelines to be off', async () => (await named())[0]![0] === 'Kept');
    expect(await named()).toEqual([['Kept', 0], ...others]);
  });

  it("counts days in the account's time zone", async () => {
    const crews = [
      await openCrew(platform, { timezone: 'Pacific/Kiritimati' }),
      await openCrew(platform, { timezone: 'Pacific/Pago_Pago' }),
    ];
    const [east, west] = await Promise.all(crews.map(async (crew) => (await report(crew, 7)).days.at(-1)!.date));
    expect([east, west]).toEqual(['2026-11-21', '2026-11-20']);
  });

  it('is limited to the account’s own data', async () => {
    const [crew, stranger] = [await openCrew(platform), await openCrew(platform)];
    const { id } = await stranger.agent({ pipelines: [stranger.pipeline.id] });
    await use(database, { accountId: stranger.account.id, agentId: id, day: today }, [5, 5]);
    const { totals, agents, pipelines, uses } = await report(crew);
    expect([totals.tokens, agents, pipelines, uses]).toEqual([0, [], [], []]);
  });

  it('is available while Pipelines is unavailable, with the last known names', async () => {
    const alone = await startPlatform({ services: ['cdp', 'agents'] });
    try {
      const account = await alone.account();
      const own = alone.database('agents');
      const { id } = await account.client.agents.create({ body: { name: 'Ada', role: 'Sells' } });
      await own`insert into agent_pipelines (account_id, agent_id, pipeline_id, name) values (${account.id}, ${id}, 7, 'Kept')`;
      expect((await account.client.agents.usage.get({})).pipelines).toEqual([
        { id: 7, name: 'Kept', tokens_today: 0, daily_budget: null, tokens: 0 },
      ]);
    } finally {
      await alone.stop();
    }
  }, 60_000);
});

it('the day before is correct across ends of months, years and daylight saving time', () => {
  const before = [dayBefore('2026-03-01', 1), dayBefore('2026-01-01', 1), dayBefore('2026-03-30', 29)];
  expect(before).toEqual(['2026-02-28', '2025-12-31', '2026-03-01']);
});
