import { pagesOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addAgents, addPlan, conflict, invalid, missing, openCrew } from '../../test/agents.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
const database = platform.database('agents');
afterAll(() => platform.stop());

const planStatus = async (id: number) => {
  const [row] = await database`select status, decision_note from plans where id = ${id}`;
  return row;
};

describe('an agent', () => {
  it('is created as a draft with default values, and read back the same', async () => {
    const crew = await openCrew(platform);
    const made = await crew.post({ name: 'Ada', role: 'Sells' });
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: 'Ada',
        role: 'Sells',
        status: 'draft',
        model: '',
        daily_limit: null,
        approval_mode: 'plan',
        approval_timeout_seconds: 259_200,
        pipelines: [],
        collections: [],
        actions: ['send_message', 'add_note', 'follow_up', 'move_stage'],
        live_version: null,
        created_at: expect.stringMatching(/[+-]\d{2}:\d{2}$/),
      },
    ]);
    expect(await crew.get(made.body.id)).toEqual(made.body);
  });

  it('is refused beyond 200 agents per account that are not deleted', async () => {
    const crew = await openCrew(platform);
    await addAgents(database, crew.account.id, 1, { status: 'archived' });
    await addAgents(database, crew.account.id, 199, { status: 'paused' });
    const last = await crew.post({ name: 'Ada', role: 'Sells' });
    expect(last.status).toBe(201);
    const refused = await crew.post({ name: 'Bo', role: 'Sells' });
    expect([refused.status, refused.body.error]).toEqual([
      409,
      { code: 'invalid_state', message: 'An account has at most 200 agents that are not deleted; delete one first' },
    ]);
    await crew.account.client.agents.delete({ params: { agent_id: last.body.id } });
    expect((await crew.post({ name: 'Bo', role: 'Sells' })).status).toBe(201);
  });

  it('is refused if 1,000 agents created in 31 days were deleted, since the usage report lists them', async () => {
    const crew = await openCrew(platform);
    const archive = (count: number, daysAgo: number) => {
      const at = new Date(platform.clock.now().getTime() - daysAgo * 86_400_000);
      return addAgents(database, crew.account.id, count, { status: 'archived', at });
    };
    await archive(999, 30);
    await archive(101, 32);
    expect((await crew.post({ name: 'Ada', role: 'Sells' })).status).toBe(201);
    await archive(1, 1);
    const refused = await crew.post({ name: 'Bo', role: 'Sells' });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'invalid_state']);
  });

  it('stores the given values, with list entries in order and without duplicates', async () => {
    const crew = await openCrew(platform);
    const other = await crew.account.client.crm.pipelines.create({
      body: { name: 'Service', stages: [{ name: 'Open' }] },
    });
    const collection = await addCollection(crew.account.id, 'Prices');
    const given = {
      model: 'gpt-9',
      daily_limit: 5_000,
      approval_mode: 'step',
      approval_timeout_seconds: 5,
      actions: ['move_stage', 'add_note', 'move_stage'],
      pipelines: [other.id, crew.pipeline.id, other.id],
      collections: [collection, collection],
    };
    const agent = await crew.agent(given);
    expect(agent).toMatchObject({
      ...given,
      actions: ['move_stage', 'add_note'],
      pipelines: [other.id, crew.pipeline.id],
      collections: [collection],
    });
  });

  it('shows the model of the settings if it has no model of its own', async () => {
    const crew = await openCrew(platform);
    const [plain, own] = [await crew.agent(), await crew.agent({ model: 'own' })];
    await crew.account.client.agents.settings.update({ body: { model: 'general' } });
    expect([(await crew.get(plain.id)).model, (await crew.get(own.id)).model]).toEqual(['general', 'own']);
    expect((await crew.patch(own.id, { model: '' })).body.model).toBe('general');
  });

  it.each([
    ['name', ''],
    ['name', 'x'.repeat(121)],
    ['name', undefined],
    ['role', ''],
    ['role', '😀'.repeat(501)],
    ['model', 'x'.repeat(201)],
    ['daily_limit', 0],
    ['daily_limit', 1.5],
    ['approval_mode', 'never'],
    ['approval_timeout_seconds', 4],
    ['approval_timeout_seconds', 2_592_001],
    ['actions', ['call']],
    ['pipelines', [0]],
    ['collections', 'all'],
  ])('is refused if %s is invalid (%#)', async (field, value) => {
    const crew = await openCrew(platform);
    expect(await crew.post({ name: 'Ada', role: 'Sells', [field]: value })).toMatchObject(invalid(field));
    expect((await crew.account.client.agents.list({})).data).toEqual([]);
  });

  it('accepts the longest name and role, and the shortest and longest timeouts', async () => {
    const crew = await openCrew(platform);
    const longest = { name: '😀'.repeat(120), role: 'x'.repeat(500), approval_timeout_seconds: 2_592_000 };
    expect(await crew.agent(longest)).toMatchObject(longest);
    expect(await crew.agent({ approval_timeout_seconds: 5, daily_limit: 1 })).toMatchObject({ daily_limit: 1 });
  });

  it('accepts only pipelines and collections of its own account, and names unknown ones', async () => {
    const [crew, stranger] = [await openCrew(platform), await openCrew(platform)];
    const foreign = await addCollection(stranger.account.id, 'Foreign');
    const agent = await crew.agent();
    for (const post of [crew.post, (body: object) => crew.patch(agent.id, body)]) {
      const base = { name: 'Bo', role: 'Sells' };
      const pipelines = [crew.pipeline.id, stranger.pipeline.id];
      expect(await post({ ...base, pipelines })).toMatchObject(
        invalid('pipelines', new RegExp(`not ${RegExp.escape(String(stranger.pipeline.id))}$`)),
      );
      expect(await post({ ...base, collections: [foreign] })).toMatchObject(
        invalid('collections', new RegExp(`not ${RegExp.escape(String(foreign))}$`)),
      );
    }
    expect(await crew.get(agent.id)).toEqual(agent);
  });

  it('accepts no pipelines if the account lacks Pipelines, but keeps or drops existing ones', async () => {
    const crew = await openCrew(platform);
    const agent = await crew.agent({ pipelines: [crew.pipeline.id] });
    await platform.admin('PATCH', `/admin/accounts/${crew.account.id}`, { modules: { crm: { on: false } } });
    const given = { name: 'Bo', role: 'Sells', pipelines: [crew.pipeline.id] };
    const refused = await waitFor('Pipelines to be off', async () => {
      const response = await crew.post(given);
      return response.status === 400 && response;
    });
    expect(refused).toMatchObject(invalid('pipelines', /Pipelines/));
    expect(await crew.post({ ...given, pipelines: [] })).toMatchObject({ status: 201, body: { pipelines: [] } });
    expect((await crew.patch(agent.id, { pipelines: agent.pipelines, name: 'Bo' })).body).toEqual({
      ...agent,
      name: 'Bo',
    });
    expect((await crew.patch(agent.id, { pipelines: [] })).body.pipelines).toEqual([]);
    expect(await crew.patch(agent.id, { pipelines: agent.pipelines })).toMatchObject(invalid('pipelines', /Pipelines/));
  });
});

describe('the list of agents', () => {
  it('ends a page early if agents have very many pipelines, and all pages together are complete', async () => {
    const { account } = await openCrew(platform);
    const ids = await addAgents(database, account.id, 70);
    await database`
      insert into agent_pipelines (account_id, agent_id, pipeline_id, name)
      select ${account.id}, id, pipeline, repeat('😀', 120) from unnest(${ids}::bigint[]) as id, generate_series(1, 100) as pipeline`;
    expect((await account.client.agents.list({ query: { limit: 100 } })).data.length).toBeLessThan(50);
    const { data } = await pagesOf((query) => account.client.agents.list({ query }));
    expect(data.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('is newest first, page by page, without archived agents or agents of other accounts', async () => {
    const [crew, stranger] = [await openCrew(platform), await openCrew(platform)];
    const { client } = crew.account;
    const made = [await crew.agent(), await crew.liveAgent(), await crew.agent()];
    const [first, second, third] = made.map(({ id }) => id);
    const page = await client.agents.list({ query: { limit: 2 } });
    expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[third, second], true]);
    await crew.remove(second!);
    const next = await client.agents.list({ query: { limit: 2, starting_after: page.next! } });
    expect([next.data.map(({ id }) => id), next.has_more, next.next]).toEqual([[first], false, null]);
    expect((await client.agents.list({})).data.map(({ id }) => id)).toEqual([third, first]);
    const foreign = await crew.account.request('GET', `/v1/agents?starting_after=${(await stranger.agent()).id}`);
    expect(foreign).toMatchObject(invalid('starting_after'));
  });
});

describe('updating an agent', () => {
  it('replaces the given fields, and lists as a whole', async () => {
    const crew = await openCrew(platform);
    const agent = await crew.agent({ pipelines: [crew.pipeline.id], daily_limit: 7 });
    expect((await crew.patch(agent.id, {})).body).toEqual(agent);
    expect((await crew.patch(agent.id, { name: 'Ada', pipelines: [crew.pipeline.id] })).body).toEqual(agent);
    const changed = await crew.patch(agent.id, { role: 'Helps', daily_limit: null, actions: ['add_note'] });
    expect(changed.body).toEqual({ ...agent, role: 'Helps', daily_limit: null, actions: ['add_note'] });
    expect((await crew.patch(agent.id, { daily_limit: 8 })).body.daily_limit).toBe(8);
    expect((await crew.patch(agent.id, { daily_limit: null, pipelines: [] })).body).toMatchObject({
      daily_limit: null,
      pipelines: [],
    });
    expect((await crew.patch(agent.id, { pipelines: [crew.pipeline.id] })).body.pipelines).toEqual([crew.pipeline.id]);
    expect(await crew.get(agent.id)).toMatchObject({ role: 'Helps', pipelines: [crew.pipeline.id] });
  });

  it('may name a pipeline that the agent already has although it no longer exists', async () => {
    const crew = await openCrew(platform);
    const { client } = crew.account;
    const gone = await client.crm.pipelines.create({ body: { name: 'Gone', stages: [{ name: 'One' }] } });
    const agent = await crew.agent({ pipelines: [gone.id] });
    await client.crm.pipelines.delete({ params: { pipeline_id: gone.id } });
    const pipelines = [gone.id, crew.pipeline.id];
    expect((await crew.patch(agent.id, { pipelines })).body).toEqual({ ...agent, pipelines });
    expect(await crew.post({ name: 'Bo', role: 'x', pipelines })).toMatchObject(invalid('pipelines'));
  });

  it('loses nothing of a concurrent update', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    await Promise.all([
      crew.patch(id, { name: 'Bo' }),
      crew.patch(id, { pipelines: [crew.pipeline.id] }),
      crew.patch(id, { role: 'Helps' }),
      crew.patch(id, { daily_limit: 9 }),
    ]);
    const changed = { name: 'Bo', role: 'Helps', daily_limit: 9, pipelines: [crew.pipeline.id] };
    expect(await crew.get(id)).toMatchObject(changed);
  });
});

describe('going live and pausing', () => {
  it('requires a published workflow', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    expect(await crew.act(id, 'go-live')).toMatchObject(conflict(/publish/));
    expect(await crew.act(id, 'pause')).toMatchObject(conflict(/draft/));
    await crew.putDraft(id, [{ id: 'a', kind: 'ai' }]);
    expect(await crew.act(id, 'go-live')).toMatchObject(conflict(/publish/));
  });

  it('switches between live and paused, and repeating a request changes nothing', async () => {
    const crew = await openCrew(platform);
    const live = await crew.liveAgent();
    expect(live).toMatchObject({ status: 'live', live_version: 1 });
    expect(await crew.act(live.id, 'go-live')).toMatchObject({ status: 200, body: live });
    for (const _ of [1, 2])
      expect(await crew.act(live.id, 'pause')).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect((await crew.get(live.id)).status).toBe('paused');
    expect(await crew.act(live.id, 'go-live')).toMatchObject({ status: 200, body: live });
  });
});

describe('deleting an agent', () => {
  it('is refused while the agent has more than 10,000 open plans, and then changes nothing', async () => {
    const crew = await openCrew(platform);
    const agent = await crew.liveAgent();
    const open = await addPlan(database, crew.account.id, agent.id);
    await database`
      insert into plans (account_id, agent_id, workflow_version, contact_id, trigger, trigger_text, goal, status, created_at)
      select account_id, agent_id, 1, contact_id, trigger, trigger_text, goal, status, created_at
      from plans cross join generate_series(1, 10000) where account_id = ${crew.account.id} and id = ${open}`;
    expect(await crew.remove(agent.id)).toMatchObject(conflict(/more than 10,000 open plans/));
    expect([await crew.get(agent.id), await planStatus(open)]).toMatchObject([agent, { status: 'running' }]);
    await database`update plans set status = 'completed' where account_id = ${crew.account.id} and id = ${open}`;
    expect(await crew.remove(agent.id)).toMatchObject({ status: 200, body: { outcome: 'archived' } });
  });

  it('deletes a draft that was never live, with its workflow', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent({ pipelines: [crew.pipeline.id] });
    await crew.putDraft(id, [{ id: 'a', kind: 'ai' }]);
    await crew.act(id, 'workflow/publish');
    expect(await crew.remove(id)).toMatchObject({ status: 200, body: { outcome: 'deleted' } });
    expect(await crew.remove(id)).toMatchObject(missing);
    expect(await crew.account.request('GET', `/v1/agents/${id}`)).toMatchObject(missing);
  });

  it.each(['live', 'paused'])(
    'archives one that was live and is %s: it leaves its pipelines and its open plans are canceled',
    async (status) => {
      const crew = await openCrew(platform);
      const agent = await crew.liveAgent({ pipelines: [crew.pipeline.id] });
      if (status === 'paused') await crew.act(agent.id, 'pause');
      const open = await addPlan(database, crew.account.id, agent.id);
      const ended = await addPlan(database, crew.account.id, agent.id, { status: 'completed' });
      expect(await crew.remove(agent.id)).toMatchObject({ status: 200, body: { outcome: 'archived' } });
      const archived = { ...agent, status: 'archived', pipelines: [] };
      expect(await crew.get(agent.id)).toEqual(archived);
      expect(await planStatus(open)).toMatchObject({ status: 'cancelled' });
      expect(await planStatus(ended)).toMatchObject({ status: 'completed' });
      expect(await crew.remove(agent.id)).toMatchObject(missing);
      expect(await crew.patch(agent.id, { name: 'Bo' })).toMatchObject(conflict(/deleted/));
      expect(await crew.putDraft(agent.id, [{ id: 'a', kind: 'ai' }])).toMatchObject(conflict(/deleted/));
      for (const action of ['go-live', 'pause', 'workflow/publish', 'workflow/versions/1/rollback']) {
        expect([action, await crew.act(agent.id, action)]).toMatchObject([action, conflict(/deleted/)]);
      }
      expect(await crew.get(agent.id)).toEqual(archived);
    },
  );

  it('happens once, however many requests arrive', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.liveAgent();
    const responses = await Promise.all(Array.from({ length: 20 }, () => crew.remove(id)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
  });
});

it('while Pipelines is unavailable, only an agent with a new pipeline is refused', async () => {
  const alone = await startPlatform({ services: ['cdp', 'agents'] });
  try {
    const account = await alone.account();
    const post = (pipelines: number[]) =>
      account.request('POST', '/v1/agents', { body: { name: 'Ada', role: 'Sells', pipelines } });
    expect(await post([1])).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
    expect((await post([])).status).toBe(201);
  } finally {
    await alone.stop();
  }
}, 60_000);

async function addCollection(accountId: string, name: string): Promise<number> {
  const [row] = await database`
    insert into collections (account_id, name) values (${accountId}, ${name}) returning id`;
  return row!.id;
}
