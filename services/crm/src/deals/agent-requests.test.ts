import { randomUUID } from 'node:crypto';
import { addDealNote, findOpenDeal, findStages, moveDealToStage } from '@customer-platform/contracts/crm';
import { busOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openSales } from '../../test/crm.ts';

const platform = await startPlatform({ services: ['cdp', 'crm'] });
const bus = await busOf(platform, 'agents');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

const done = { refusal: null };

/** Creates an account with an open deal. Returns both, and the requests that agents send about the deal. */
async function openDeal() {
  const sales = await openSales(platform);
  const { client, id: accountId } = sales.account;
  const contact = (await client.cdp.contacts.create({ body: { name: 'Casey' } })).id;
  const deal = await client.crm.deals.create({ body: { title: 'Tea', contact } });
  const read = () => client.crm.deals.get({ params: { deal_id: deal.id } });
  const note = (body: string, key: string = randomUUID()) =>
    bus.ask(addDealNote, accountId, { key, deal: deal.id, body });
  const move = (stage: number, key: string = randomUUID()) =>
    bus.ask(moveDealToStage, accountId, { key, deal: deal.id, stage });
  return { ...sales, client, accountId, contact, deal, read, note, move };
}

it("finds a contact's newest open deal in the given pipelines with its number, ignoring closed deals", async () => {
  const { client, accountId, contact, deal, pipeline } = await openDeal();
  const find = (pipelines: number[]) => bus.ask(findOpenDeal, accountId, { contact, pipelines });
  expect((await find([pipeline.id])).deal).toMatchObject({ id: deal.id, number: 1, title: 'Tea' });
  const newer = await client.crm.deals.create({ body: { title: 'More tea', contact } });
  expect((await find([pipeline.id])).deal).toMatchObject({ id: newer.id, number: 2 });
  await client.crm.deals.win({ params: { deal_id: newer.id } });
  expect((await find([pipeline.id])).deal).toMatchObject({ id: deal.id });
  expect(await find([pipeline.id + 1_000])).toEqual({ deal: null });
  expect(await find([])).toEqual({ deal: null });
  expect(await bus.ask(findOpenDeal, accountId, { contact: randomUUID(), pipelines: [pipeline.id] })).toEqual({
    deal: null,
  });
});

it('finds existing pipelines and stages; pipelines come with all their stages or only their names', async () => {
  const { accountId, pipeline, stages } = await openDeal();
  const asked = { pipelines: [pipeline.id, 999_999], stages: [stages[1]!, 999_999] };
  const found = await bus.ask(findStages, accountId, asked);
  expect(found.pipelines).toMatchObject([{ id: pipeline.id, name: 'Sales', stages: stages.map((id) => ({ id })) }]);
  expect(found.stages).toEqual([{ id: stages[1], name: 'Qualified', pipeline: pipeline.id }]);
  const names = await bus.ask(findStages, accountId, { ...asked, namesOnly: true });
  expect(names).toEqual({ pipelines: [{ id: pipeline.id, name: 'Sales', stages: [] }], stages: found.stages });
  const other = await platform.account();
  expect(await bus.ask(findStages, other.id, asked)).toEqual({ pipelines: [], stages: [] });
});

describe('a note', () => {
  it("is added as a paragraph of the deal's notes, once per key, and emits an event", async () => {
    const { account, note, read } = await openDeal();
    const key = randomUUID();
    const replies = await Promise.all(Array.from({ length: 10 }, () => note('Asked for Assam', key)));
    expect(replies).toEqual(Array(10).fill(done));
    expect((await read()).notes).toBe('Asked for Assam');
    expect(await note('Called back')).toEqual(done);
    expect((await read()).notes).toBe('Asked for Assam\n\nCalled back');
    const told = () => platform.events(account.id).filter(({ type }) => type === 'deal.updated');
    await waitFor('both events', () => told().length === 2);
    expect(told().map(({ data }) => data.previous)).toEqual([{ notes: '' }, { notes: 'Asked for Assam' }]);
  });

  it('that does not fit is refused and may be requested again; so is a note on a deleted deal', async () => {
    const { client, deal, note, read } = await openDeal();
    expect(await note('a'.repeat(4_990))).toEqual(done);
    expect(await note('b'.repeat(8))).toEqual(done);
    const key = randomUUID();
    expect((await note('c', key)).refusal).toMatch(/does not fit/);
    await client.crm.deals.update({ params: { deal_id: deal.id }, body: { notes: '' } });
    expect(await note('c', key)).toEqual(done);
    expect((await read()).notes).toBe('c');
    await client.crm.deals.delete({ params: { deal_id: deal.id } });
    expect((await note('d')).refusal).toMatch(/no longer exists/);
    expect(await note('c', key)).toEqual(done);
  });
});

describe('a move', () => {
  it('is made once per key, even if the deal was moved again since', async () => {
    const { client, deal, stages, move, read } = await openDeal();
    const key = randomUUID();
    expect(await move(stages[1]!, key)).toEqual(done);
    expect((await read()).stage.id).toBe(stages[1]);
    await client.crm.deals.move({ params: { deal_id: deal.id }, body: { stage: stages[2]! } });
    expect(await move(stages[1]!, key)).toEqual(done);
    expect((await read()).stage.id).toBe(stages[2]);
    expect(await move(stages[2]!)).toEqual(done);
  });

  it('is refused to a stage of another pipeline, and for a closed deal', async () => {
    const { client, deal, stages, move } = await openDeal();
    const other = await client.crm.pipelines.create({ body: { name: 'Other', stages: [{ name: 'One' }] } });
    expect((await move(other.stages[0]!.id)).refusal).toMatch(/no such stage/);
    await client.crm.deals.win({ params: { deal_id: deal.id } });
    expect((await move(stages[1]!)).refusal).toMatch(/won/);
  });
});
