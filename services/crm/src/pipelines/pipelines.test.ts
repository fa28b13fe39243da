import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openSales } from '../../test/crm.ts';

const platform = await startPlatform({ services: ['cdp', 'crm'] });
afterAll(() => platform.stop());

const named = (...names: string[]) => names.map((name) => ({ name }));
const missing = { status: 404, body: { error: { code: 'not_found' } } };
const conflict = (message: RegExp) => ({
  status: 409,
  body: { error: { code: 'invalid_state', message: expect.stringMatching(message) } },
});

describe('the first pipeline', () => {
  it('is Sales with New, Qualified and Proposal, and is created once by 40 concurrent requests', async () => {
    const account = await platform.account();
    const lists = Array.from({ length: 20 }, () => account.client.crm.pipelines.list());
    const deals = Array.from({ length: 20 }, () => account.client.crm.deals.create({ body: { title: 'first' } }));
    const [seen, added] = await Promise.all([Promise.all(lists), Promise.all(deals)]);
    const { data } = await account.client.crm.pipelines.list();
    const stages = ['New', 'Qualified', 'Proposal'].map((name, index) => ({
      id: expect.any(Number),
      name,
      order: index + 1,
    }));
    expect(data).toEqual([{ id: expect.any(Number), name: 'Sales', stages }]);
    expect(seen.map((page) => page.data)).toEqual(lists.map(() => data));
    expect(new Set(added.map(({ pipeline, stage }) => `${pipeline.id} ${stage.name}`))).toEqual(
      new Set([`${data[0]!.id} New`]),
    );
  });

  it('precedes one that the account creates first', async () => {
    const { client } = await platform.account();
    await client.crm.pipelines.create({ body: { name: 'Own', stages: named('Only') } });
    expect((await client.crm.pipelines.list()).data.map(({ name }) => name)).toEqual(['Sales', 'Own']);
    expect((await client.crm.deals.create({ body: { title: 'x' } })).pipeline.name).toBe('Sales');
  });

  it('is not created again after it is deleted; a deal then needs another pipeline', async () => {
    const { account, pipeline } = await openSales(platform);
    await account.client.crm.pipelines.delete({ params: { pipeline_id: pipeline.id } });
    expect((await account.client.crm.pipelines.list()).data).toEqual([]);
    const refused = await account.request('POST', '/v1/crm/deals', { body: { title: 'x' } });
    expect(refused).toMatchObject(invalid('pipeline'));
    expect(refused.body.error.message).toMatch(/create one/);
    const own = await account.client.crm.pipelines.create({ body: { name: 'Own', stages: named('Only') } });
    expect((await account.client.crm.pipelines.list()).data).toEqual([own]);
    expect((await account.client.crm.deals.create({ body: { title: 'x' } })).pipeline).toEqual({
      id: own.id,
      name: 'Own',
    });
  });
});

describe('pipelines', () => {
  it('are listed page by page, oldest first, and returned as they were created', async () => {
    const [{ account, pipeline }, stranger] = [await openSales(platform), await openSales(platform)];
    const made = [pipeline];
    for (const name of ['B', 'A', 'C']) {
      made.push(await account.client.crm.pipelines.create({ body: { name, stages: named('Two', 'One') } }));
    }
    const first = await account.client.crm.pipelines.list({ query: { limit: 3 } });
    expect(first).toEqual({ data: made.slice(0, 3), has_more: true, next: String(made[2]!.id) });
    const rest = await account.client.crm.pipelines.list({ query: { limit: 3, starting_after: first.next! } });
    expect(rest).toEqual({ data: made.slice(3), has_more: false, next: null });
    const foreign = await stranger.account.request('GET', `/v1/crm/pipelines?starting_after=${first.next}`);
    expect(foreign).toMatchObject(invalid('starting_after'));
    expect(await account.client.crm.pipelines.get({ params: { pipeline_id: made[1]!.id } })).toEqual(made[1]);
  });

  it('are limited to 1,000 per account', async () => {
    const { account } = await openSales(platform);
    await platform.database('crm')`
      insert into pipelines (account_id, name) select ${account.id}, n::text from generate_series(1, 998) as n`;
    const create = () => account.request('POST', '/v1/crm/pipelines', { body: { name: 'x', stages: named('One') } });
    const responses = await Promise.all([create(), create(), create()]);
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const refused = responses.find(({ status }) => status === 409)!.body.error;
    expect([refused.code, refused.message]).toEqual([
      'invalid_state',
      expect.stringContaining('at most 1,000 pipelines'),
    ]);
  });

  it('have a name of 1 to 120 code points, and 1 to 50 stages with names of the same length', async () => {
    const { account } = await openSales(platform);
    const post = (body: unknown) => account.request('POST', '/v1/crm/pipelines', { body });
    const stages = named('One');
    for (const name of ['x'.repeat(119), '😀'.repeat(120)]) {
      expect(await post({ name, stages })).toMatchObject({ status: 201, body: { name } });
      expect(await post({ name: 'x', stages: named(name) })).toMatchObject({
        status: 201,
        body: { stages: named(name) },
      });
    }
    for (const name of ['', '😀'.repeat(121), 7, undefined]) {
      expect([name, await post({ name, stages })]).toMatchObject([name, invalid('name')]);
      expect([name, await post({ name: 'x', stages: [{ name }] })]).toMatchObject([name, invalid('stages')]);
    }
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `Stage ${index}` }));
    expect((await post({ name: 'x', stages: many(50) })).body.stages).toMatchObject(many(50));
    for (const wrong of [[], many(51), undefined, 'One']) {
      expect(await post({ name: 'x', stages: wrong })).toMatchObject(invalid('stages'));
    }
  });
});

describe('updating a pipeline', () => {
  it('renames, reorders, adds and removes stages at once; remaining stages keep their ids and deals', async () => {
    const { account, pipeline, stages, deal, get } = await openSales(platform);
    const kept = await deal({ stage: stages[2] });
    const params = { pipeline_id: pipeline.id };
    const changed = await account.client.crm.pipelines.update({
      params,
      body: {
        name: 'Leads',
        stages: [{ id: stages[2]!, name: 'Offer' }, { name: 'Brand new' }, { id: stages[0]! }, { name: 'Last' }],
      },
    });
    expect(changed).toEqual({
      id: pipeline.id,
      name: 'Leads',
      stages: [
        { id: stages[2], name: 'Offer', order: 1 },
        { id: expect.any(Number), name: 'Brand new', order: 2 },
        { id: stages[0], name: 'New', order: 3 },
        { id: expect.any(Number), name: 'Last', order: 4 },
      ],
    });
    expect(new Set(changed.stages.map(({ id }) => id)).size).toBe(4);
    expect(await account.client.crm.pipelines.get({ params })).toEqual(changed);
    const shown = { pipeline: { id: pipeline.id, name: 'Leads' }, stage: { id: stages[2], name: 'Offer' } };
    expect(await get(kept.id)).toEqual({ ...kept, ...shown });
    expect(await account.client.crm.deals.create({ body: { title: 'x' } })).toMatchObject(shown);
  });

  it('changes nothing if the values are the same', async () => {
    const { account, pipeline, stages } = await openSales(platform);
    const params = { pipeline_id: pipeline.id };
    const ids = stages.map((id) => ({ id }));
    for (const body of [{}, { name: 'Sales' }, { stages: ids }, { stages: pipeline.stages }]) {
      expect(await account.client.crm.pipelines.update({ params, body })).toEqual(pipeline);
    }
    expect((await account.client.crm.pipelines.update({ params, body: { name: 'Leads' } })).stages).toEqual(
      pipeline.stages,
    );
  });

  it('refuses a stage of another pipeline, a duplicate, and one without id and name', async () => {
    const { account, pipeline, stages } = await openSales(platform);
    const other = await account.client.crm.pipelines.create({ body: { name: 'Other', stages: named('Else') } });
    const [first] = stages;
    const wrong: [unknown[], string][] = [
      [[{ id: first }, { id: 999_999_999 }], 'stages[1].id must be the id of a stage of this pipeline'],
      [[{ id: other.stages[0]!.id }], 'stages[0].id must be the id of a stage of this pipeline'],
      [
        [{ id: first }, { name: 'x' }, { id: first, name: 'y' }],
        'stages[2].id must be unique; stages[0] has the same id',
      ],
      [[{ id: first }, {}], 'stages[1] must have an id, a name, or both'],
      [[], 'stages must have at least 1'],
    ];
    for (const [given, message] of wrong) {
      const response = await account.request('PATCH', `/v1/crm/pipelines/${pipeline.id}`, { body: { stages: given } });
      expect(response).toMatchObject(invalid('stages'));
      expect(response.body.error.message).toContain(message);
    }
    expect(await account.client.crm.pipelines.get({ params: { pipeline_id: pipeline.id } })).toEqual(pipeline);
  });
});

describe('a stage that has deals', () => {
  it.each(['open', 'won', 'lost'])(
    'of status %s cannot be removed, nor its pipeline, until the deals are gone',
    async (status) => {
      const { account, pipeline, stages, deal, change } = await openSales(platform);
      const { id } = await deal({ stage: stages[1] });
      if (status !== 'open') await change(id, status === 'won' ? 'win' : 'lose');
      const path = `/v1/crm/pipelines/${pipeline.id}`;
      const without = (...gone: number[]) => ({
        name: 'Changed',
        stages: stages.filter((stage) => !gone.includes(stage)).map((stage) => ({ id: stage })),
      });
      const refused = await account.request('PATCH', path, { body: without(stages[0]!, stages[1]!) });
      expect(refused).toMatchObject(conflict(/stage Qualified has deals/));
      expect(await account.request('DELETE', path)).toMatchObject(conflict(/has deals in its stage Qualified/));
      expect((await account.request('GET', path)).body).toEqual(pipeline);
      expect((await account.request('PATCH', path, { body: without(stages[0]!) })).body.stages).toHaveLength(2);
      await account.client.crm.deals.delete({ params: { deal_id: id } });
      expect(
        (await account.request('PATCH', path, { body: without(stages[0]!, stages[1]!) })).body.stages,
      ).toHaveLength(1);
      expect((await account.request('DELETE', path)).status).toBe(204);
      for (const method of ['DELETE', 'GET']) expect(await account.request(method, path)).toMatchObject(missing);
    },
  );

  it('is never removed while deals enter it: no deal ends up without its stage', async () => {
    const { account, deal, change, get } = await openSales(platform);
    const outcomes = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const made = await account.client.crm.pipelines.create({
        body: { name: 'Race', stages: named('Stays', 'Goes') },
      });
      const [stays, goes] = made.stages.map(({ id }) => id) as [number, number];
      const moving = await deal({ stage: stays });
      const remove = () =>
        account.request('PATCH', `/v1/crm/pipelines/${made.id}`, { body: { stages: [{ id: stays }] } });
      const create = () => account.request('POST', '/v1/crm/deals', { body: { title: 'x', stage: goes } });
      const requests = [remove, create, () => change(moving.id, 'move', { stage: goes }), create];
      const turned = [...requests.slice(round % 4), ...requests.slice(0, round % 4)];
      const responses = await Promise.all(turned.map((send) => send()));
      const statuses = responses.map(({ status }) => status);
      const { stages } = await account.client.crm.pipelines.get({ params: { pipeline_id: made.id } });
      const { data } = await account.client.crm.deals.list({ query: { pipeline: made.id } });
      for (const { stage } of data) expect(stages.map(({ id }) => id)).toContain(stage.id);
      expect(data).toHaveLength(1 + statuses.filter((status) => status === 201).length);
      expect((await get(moving.id)).pipeline.id).toBe(made.id);
      for (const status of statuses) outcomes.add(String(status));
    }
    expect([...outcomes].filter((status) => !['200', '201', '400', '409'].includes(status))).toEqual([]);
  });

  it('is never removed with its pipeline while deals enter it', async () => {
    const { account } = await openSales(platform);
    for (let round = 0; round < 8; round++) {
      const made = await account.client.crm.pipelines.create({ body: { name: 'Race', stages: named('One', 'Two') } });
      const create = () => account.request('POST', '/v1/crm/deals', { body: { title: 'x', pipeline: made.id } });
      const remove = () => account.request('DELETE', `/v1/crm/pipelines/${made.id}`);
      const [removed, ...created] = await Promise.all([remove(), create(), create()]);
      const statuses = created.map(({ status }) => status);
      expect([removed!.status, ...statuses]).toEqual(removed!.status === 204 ? [204, 400, 400] : [409, 201, 201]);
    }
  });
});
