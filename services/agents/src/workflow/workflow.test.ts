import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { addPlan, blocks, type Crew, conflict, invalid, missing, openCrew } from '../../test/agents.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
const database = platform.database('agents');
afterAll(() => platform.stop());

const publish = (crew: Crew, id: number, body: unknown = {}) => crew.act(id, 'workflow/publish', body);
const rollBack = (crew: Crew, id: number, number: number | string) =>
  crew.account.request('POST', `/v1/agents/${id}/workflow/versions/${number}/rollback`);
const versions = (crew: Crew, id: number) =>
  crew.account.client.agents.workflow.versions.list({ params: { agent_id: id } });
const addMember = async (crew: Crew, email: string) =>
  (await platform.admin('POST', `/admin/accounts/${crew.account.id}/members`, { name: 'Ada', email })).body
    .id as string;

/** Creates an agent. Its version 1 has these blocks; its live version 2 has none of them. */
async function agentWithVersions(crew: Crew, first: unknown[], more: Record<string, unknown> = {}): Promise<number> {
  const { id } = await crew.agent(more);
  for (const given of [first, [{ id: 'think', kind: 'ai' }]]) {
    expect((await crew.putDraft(id, given)).status).toBe(200);
    expect((await publish(crew, id)).status).toBe(201);
  }
  return id;
}

describe('the draft', () => {
  it('is replaced as a whole and returned as it is stored', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    const full = {
      id: 'b',
      kind: 'action',
      action: 'move_stage',
      teammate: 'ada@example.com',
      pipeline: 1,
      stage: 2,
      collection: 3,
      params: { deep: [{ a: null }] },
    };
    const put = await crew.putDraft(id, [{ id: 'a', kind: 'condition' }, full]);
    expect([put.status, put.body]).toEqual([
      200,
      { blocks: [{ id: 'a', kind: 'condition', params: {} }, full], updated_at: expect.any(String) },
    ]);
    expect((await crew.putDraft(id, blocks)).body.blocks).toHaveLength(2);
    await publish(crew, id);
    const [row] = await database`select blocks from workflow_versions where agent_id = ${id}`;
    expect(row!.blocks).toEqual(blocks.map((block) => ({ ...block, params: {} })));
  });

  it('is refused if it is invalid', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    const block = { id: 'a', kind: 'ai' };
    const wrong = [
      undefined,
      [],
      [block, block],
      [{ ...block, kind: 'other' }],
      [{ ...block, kind: 'action' }],
      [{ ...block, id: '' }],
      [{ ...block, stage: 0 }],
      [{ ...block, teammate: 'nobody' }],
      Array.from({ length: 201 }, (_, index) => ({ ...block, id: String(index) })),
    ];
    for (const given of wrong) expect(await crew.putDraft(id, given)).toMatchObject(invalid('blocks'));
    const most = Array.from({ length: 200 }, (_, index) => ({ ...block, id: String(index) }));
    expect((await crew.putDraft(id, most)).status).toBe(200);
    expect(await crew.putDraft(id + 1_000_000, most)).toMatchObject(missing);
  });

  it('has at most 256 KiB', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    const draft = (length: number) => [{ id: 'a', kind: 'ai', params: { prompt: 'x'.repeat(length) } }];
    const most = 262_144 - JSON.stringify(draft(0)).length;
    expect((await crew.putDraft(id, draft(most))).status).toBe(200);
    expect(await crew.putDraft(id, draft(most + 1))).toMatchObject(invalid('blocks'));
    const manyFields = (count: number) => {
      const list = Array.from({ length: count }, (_, index) => ({ [index]: 0 }));
      return [{ id: 'a', kind: 'ai', params: { list } }];
    };
    expect((await crew.putDraft(id, manyFields(6_000))).status).toBe(200);
    expect(await crew.putDraft(id, manyFields(7_000))).toMatchObject(invalid('blocks'));
    // PostgreSQL writes each of these numbers as 326 characters.
    const small = (count: number) => [{ id: 'a', kind: 'ai', params: { list: Array(count).fill(5e-324) } }];
    expect((await crew.putDraft(id, small(1_500))).status).toBe(200);
    expect(await crew.putDraft(id, small(1_650))).toMatchObject(invalid('blocks'));
  });

  it('is returned as last written', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    const read = () => crew.account.request('GET', `/v1/agents/${id}/workflow/draft`);
    expect(await read()).toMatchObject(missing);
    const { body: put } = await crew.putDraft(id, blocks);
    expect(await read()).toMatchObject({ status: 200, body: put });
    await publish(crew, id);
    expect((await read()).body).toEqual(put);
  });
});

describe('publishing', () => {
  it('requires a draft, and makes it the live version', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    expect(await publish(crew, id)).toMatchObject(conflict(/draft/));
    await crew.putDraft(id, [...blocks, { id: 'more', kind: 'ai' }]);
    const first = await publish(crew, id, { note: 'First' });
    const shown = { number: 1, note: 'First', by: null, at: expect.any(String), blocks: 3, ai_blocks: 2 };
    expect([first.status, first.body]).toEqual([201, { ...shown, live: true, running: 0 }]);
    expect((await publish(crew, id)).body).toMatchObject({ number: 2, note: '', live: true });
    expect((await crew.get(id)).live_version).toBe(2);
    expect((await versions(crew, id)).data).toMatchObject([
      { number: 2, live: true },
      { number: 1, live: false },
    ]);
    expect(await publish(crew, id, { note: 'x'.repeat(501) })).toMatchObject(invalid('note'));
  });

  it('is limited to 1,000 versions, including rollbacks', async () => {
    const crew = await openCrew(platform);
    const id = await agentWithVersions(crew, blocks);
    await database`update agents set last_version = 998 where id = ${id}`;
    expect((await publish(crew, id)).body).toMatchObject({ number: 999 });
    expect((await rollBack(crew, id, 2)).body).toMatchObject({ number: 1_000 });
    for (const refused of [await publish(crew, id), await rollBack(crew, id, 2)])
      expect(refused).toMatchObject(conflict(/at most 1000 versions/));
  });

  it('never uses a number twice, even with concurrent requests', async () => {
    const crew = await openCrew(platform);
    const [{ id }, other] = [await crew.agent(), await crew.agent()];
    for (const agent of [id, other.id]) await crew.putDraft(agent, blocks);
    const responses = await Promise.all(Array.from({ length: 20 }, () => publish(crew, id)));
    const numbers = responses.map(({ body }) => body.number).sort((one, another) => one - another);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    const listed = (await versions(crew, id)).data;
    expect(listed.filter(({ live }) => live).map(({ number }) => number)).toEqual([20]);
    expect((await publish(crew, other.id)).body.number).toBe(1);
  });
});

describe('the versions', () => {
  it('are returned with their blocks, which can be used as a draft', async () => {
    const crew = await openCrew(platform);
    const id = await agentWithVersions(crew, blocks);
    const read = (number: number | string) =>
      crew.account.request('GET', `/v1/agents/${id}/workflow/versions/${number}`);
    const listed = (await versions(crew, id)).data;
    const { body: first } = await read(1);
    expect(first).toEqual({ ...listed[1], definition: expect.any(Array) });
    expect((await crew.putDraft(id, first.definition)).body.blocks).toEqual(first.definition);
    expect(first.definition).toMatchObject(blocks);
    expect((await read(2)).body).toMatchObject({ ...listed[0], definition: [{ id: 'think' }] });
    for (const number of [0, 3, 'last']) expect(await read(number)).toMatchObject(missing);
  });

  it('are listed newest first, page by page, with their numbers of open plans', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.liveAgent();
    for (const note of ['two', 'three']) await publish(crew, id, { note });
    for (const plan of [{ version: 1 }, { version: 1, status: 'awaiting_approval' }, { version: 1, status: 'failed' }])
      await addPlan(database, crew.account.id, id, plan);
    await addPlan(database, crew.account.id, id, { version: 3 });
    const other = await crew.liveAgent();
    await addPlan(database, crew.account.id, other.id, { version: 1 });
    const list = (query: Record<string, unknown>) =>
      crew.account.client.agents.workflow.versions.list({ params: { agent_id: id }, query });
    const page = await list({ limit: 2 });
    expect(page.data.map(({ number, running }) => [number, running])).toEqual([
      [3, 1],
      [2, 0],
    ]);
    expect([page.has_more, page.next]).toEqual([true, '2']);
    const rest = await list({ limit: 2, starting_after: '2' });
    expect(rest).toMatchObject({ data: [{ number: 1, running: 2, live: false }], has_more: false, next: null });
    const unknown = await crew.account.request('GET', `/v1/agents/${id}/workflow/versions?starting_after=4`);
    expect(unknown).toMatchObject(invalid('starting_after'));
  });
});

describe('rolling back', () => {
  it('publishes an earlier version as the next one, and leaves draft and history unchanged', async () => {
    const crew = await openCrew(platform);
    const id = await agentWithVersions(crew, blocks);
    await crew.putDraft(id, [{ id: 'c', kind: 'condition' }]);
    const back = await rollBack(crew, id, 1);
    const shown = {
      number: 3,
      note: 'Rolled back to version 1',
      by: null,
      at: expect.any(String),
      blocks: 2,
      ai_blocks: 1,
    };
    expect([back.status, back.body]).toEqual([201, { ...shown, live: true, running: 0 }]);
    expect((await crew.get(id)).live_version).toBe(3);
    expect((await publish(crew, id)).body).toMatchObject({ number: 4, blocks: 1, ai_blocks: 0 });
    const listed = (await versions(crew, id)).data;
    expect(listed.map(({ number, note, live }) => [number, note, live])).toEqual([
      [4, '', true],
      [3, 'Rolled back to version 1', false],
      [2, '', false],
      [1, '', false],
    ]);
  });

  it('is refused if the version does not exist or is already live', async () => {
    const crew = await openCrew(platform);
    const { id } = await crew.agent();
    expect(await rollBack(crew, id, 1)).toMatchObject(conflict(/no version 1; nothing was published/));
    await crew.putDraft(id, blocks);
    await publish(crew, id);
    expect(await rollBack(crew, id, 1)).toMatchObject(conflict(/Version 1 is already live/));
    for (const number of [2, 2_147_483_647])
      expect(await rollBack(crew, id, number)).toMatchObject(conflict(/no version \d+; the latest is 1/));
    for (const none of ['x', '0', '-1', '1.5', 2_147_483_648, 9_007_199_254_740_991])
      expect(await rollBack(crew, id, none)).toMatchObject(missing);
    expect(await rollBack(crew, id + 1_000_000, 1)).toMatchObject(missing);
    expect((await versions(crew, id)).data).toHaveLength(1);
  });

  it('is refused if references in the version are broken, and names each of them', async () => {
    const crew = await openCrew(platform);
    const { client } = crew.account;
    const gone = await client.crm.pipelines.create({ body: { name: 'Gone', stages: [{ name: 'One' }] } });
    const [collection] = await database`
      insert into collections (account_id, name) values (${crew.account.id}, 'Gone') returning id`;
    const [member, stays] = [await addMember(crew, 'ada@example.com'), await addMember(crew, 'bo@example.com')];
    expect(stays).toEqual(expect.any(String));
    const stage = crew.pipeline.stages[0]!.id;
    const goneStage = gone.stages[0]!.id;
    const id = await agentWithVersions(crew, [
      { id: '1', kind: 'action', action: 'move_stage', pipeline: gone.id, stage: goneStage },
      { id: '2', kind: 'action', action: 'add_note', teammate: 'Ada@example.com' },
      { id: '3', kind: 'action', action: 'add_note', teammate: 'ada@example.com', collection: collection!.id },
      { id: '4', kind: 'ai', action: 'follow_up', teammate: 'bo@example.com', pipeline: crew.pipeline.id, stage },
    ]);
    expect((await rollBack(crew, id, 1)).status).toBe(201);
    expect((await rollBack(crew, id, 2)).status).toBe(201);
    await client.crm.pipelines.delete({ params: { pipeline_id: gone.id } });
    await platform.admin('DELETE', `/admin/accounts/${crew.account.id}/members/${member}`);
    await database`delete from collections where id = ${collection!.id}`;
    await crew.patch(id, { actions: ['send_message', 'add_note'] });
    const response = await rollBack(crew, id, 1);
    expect(response).toMatchObject(conflict(/./));
    expect(response.body.error.message).toBe(
      `Version 1 is broken now: action move_stage is not switched on, teammate ada@example.com is no longer active, ` +
        `pipeline ${gone.id} no longer exists, stage ${goneStage} no longer exists, collection ${collection!.id} no longer exists; ` +
        `restore it as the draft and fix it there`,
    );
    expect((await versions(crew, id)).data).toHaveLength(4);
  });

  it('makes one request to the gateway, however many teammates the blocks name', async () => {
    const crew = await openCrew(platform);
    const named = Array.from({ length: 200 }, (_, index) => `ada-${index}@example.com`);
    const id = await agentWithVersions(
      crew,
      named.map((teammate, index) => ({ id: String(index), kind: 'ai', teammate })),
    );
    for (const email of named.slice(1, 3)) await addMember(crew, email);
    const { NATS_URL, BUS_PREFIX } = platform.env('agents');
    const nats = await connect({ servers: NATS_URL! });
    const asked: string[] = [];
    nats.subscribe(`${BUS_PREFIX}.request.gateway.*`, {
      callback: (_error, message) => {
        const isOurs = message.json<{ account_id: string }>().account_id === crew.account.id;
        if (isOurs && /Members?$/.test(message.subject)) asked.push(message.subject);
      },
    });
    await nats.flush();
    const { status, body } = await rollBack(crew, id, 1);
    await nats.flush();
    await nats.close();
    expect([status, asked]).toEqual([409, [`${BUS_PREFIX}.request.gateway.findMembers`]]);
    const said: string = body.error.message;
    const left = named.filter((_email, index) => index === 0 || index > 2);
    expect(said).toContain(`now: ${left.map((email) => `teammate ${email} is no longer active`).join(', ')};`);
  });

  it('treats a stage of another pipeline as gone, and an unknown email as an inactive teammate', async () => {
    const [crew, stranger] = [await openCrew(platform), await openCrew(platform)];
    const other = await crew.account.client.crm.pipelines.create({
      body: { name: 'Other', stages: [{ name: 'One' }] },
    });
    await addMember(stranger, 'far@example.com');
    const stage = crew.pipeline.stages[0]!.id;
    const broken = [
      [{ pipeline: other.id, stage }, `stage ${stage} no longer exists`],
      [{ pipeline: stranger.pipeline.id }, `pipeline ${stranger.pipeline.id} no longer exists`],
      [{ stage: stranger.pipeline.stages[0]!.id }, `stage ${stranger.pipeline.stages[0]!.id} no longer exists`],
      [{ teammate: 'far@example.com' }, 'teammate far@example.com is no longer active'],
    ] as const;
    for (const [named, phrase] of broken) {
      const id = await agentWithVersions(crew, [{ id: 'a', kind: 'ai', ...named }]);
      const response = await rollBack(crew, id, 1);
      expect([response.status, response.body.error?.message]).toEqual([
        409,
        expect.stringContaining(`now: ${phrase};`),
      ]);
    }
    const id = await agentWithVersions(crew, [{ id: 'a', kind: 'ai', stage }]);
    expect((await rollBack(crew, id, 1)).status).toBe(201);
  });

  it('treats pipelines and stages as gone if the account lacks Pipelines', async () => {
    const crew = await openCrew(platform);
    const id = await agentWithVersions(crew, [{ id: 'a', kind: 'ai', pipeline: crew.pipeline.id }]);
    await platform.admin('PATCH', `/admin/accounts/${crew.account.id}`, { modules: { crm: { on: false } } });
    await waitFor('Pipelines to be off', async () => (await rollBack(crew, id, 1)).status === 409);
    expect(await rollBack(crew, id, 1)).toMatchObject(conflict(/Pipelines is not switched on/));
  });

  it('creates versions with distinct numbers in concurrent requests', async () => {
    const crew = await openCrew(platform);
    const id = await agentWithVersions(crew, blocks);
    await rollBack(crew, id, 1);
    const mixed = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? rollBack(crew, id, 2) : publish(crew, id))),
    );
    expect(mixed.map(({ status }) => status)).toEqual(mixed.map(() => 201));
    const numbers = mixed.map(({ body }) => body.number).sort((one, another) => one - another);
    expect(numbers).toEqual(Array.from({ length: 10 }, (_, index) => index + 4));
  });
});
