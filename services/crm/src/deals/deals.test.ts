import { getDealSummary } from '@customer-platform/contracts/crm';
import { busOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventsUntil, invalid, openSales } from '../../test/crm.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'webhooks'] });
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-06-01T08:00:00Z'));

const missing = { status: 404, body: { error: { code: 'not_found' } } };

describe('a deal', () => {
  it("starts open in the account's first stage and currency with value 0, and emits an event", async () => {
    const { account, pipeline, stages, get } = await openSales(platform, { currency: 'CHF' });
    const made = await account.client.crm.deals.create({ body: { title: 'First' } });
    const at = made.created_at;
    expect(at).toMatch(/^2026-06-01T10:00:.*\+02:00$/);
    expect(made).toEqual({
      id: expect.any(String),
      title: 'First',
      pipeline: { id: pipeline.id, name: 'Sales' },
      stage: { id: stages[0], name: 'New' },
      status: 'open',
      value_minor: 0,
      currency: 'CHF',
      contact: null,
      notes: '',
      stage_entered_at: at,
      closed_at: null,
      created_at: at,
      updated_at: at,
    });
    expect(await get(made.id)).toEqual(made);
    const event = await platform.event(account.id, 'deal.created');
    expect(event).toMatchObject({ mode: 'live', data: { deal: made } });
    expect(event.data).toEqual({ deal: made });
  });

  it('accepts given values; a stage implies its pipeline, a pipeline its first stage', async () => {
    const { account, pipeline, stages, deal } = await openSales(platform);
    const stageNames = [{ name: 'Call' }, { name: 'Visit' }];
    const other = await account.client.crm.pipelines.create({ body: { name: 'Other', stages: stageNames } });
    const contact = await account.client.cdp.contacts.create({ body: { name: 'Ada', phone: '+4930901820' } });
    const values = { title: 'Big', value_minor: 12_345, currency: 'USD', notes: 'soon' };
    const full = await deal({ ...values, contact: contact.id, pipeline: other.id, stage: other.stages[1]!.id });
    expect(full).toMatchObject({
      ...values,
      contact: { id: contact.id, name: 'Ada', phone: '+4930901820' },
      pipeline: { id: other.id, name: 'Other' },
      stage: { id: other.stages[1]!.id, name: 'Visit' },
    });
    expect(await deal({ stage: other.stages[1]!.id })).toMatchObject({ pipeline: full.pipeline, stage: full.stage });
    expect(await deal({ pipeline: other.id })).toMatchObject({ pipeline: full.pipeline, stage: { name: 'Call' } });
    expect(await deal({ stage: stages[2] })).toMatchObject({ pipeline: { id: pipeline.id }, stage: { id: stages[2] } });
  });

  it('is refused with 400 naming the invalid field, on creation and on update', async () => {
    const { account, pipeline, stages, deal, patch } = await openSales(platform);
    const stranger = await openSales(platform);
    const foreign = await stranger.account.client.cdp.contacts.create({ body: { name: 'Foreign' } });
    const other = await account.client.crm.pipelines.create({ body: { name: 'Other', stages: [{ name: 'Call' }] } });
    const made = await deal();
    const wrongAlways: [Record<string, unknown>, string][] = [
      [{ title: '' }, 'title'],
      [{ title: 7 }, 'title'],
      [{ value_minor: -1 }, 'value_minor'],
      [{ value_minor: 1.5 }, 'value_minor'],
      [{ value_minor: 2 ** 53 }, 'value_minor'],
      [{ currency: 'euro' }, 'currency'],
      [{ contact: crypto.randomUUID() }, 'contact'],
      [{ contact: foreign.id }, 'contact'],
      [{ notes: 'a\u0000b' }, 'notes'],
    ];
    const wrongOfNew: typeof wrongAlways = [
      [{ title: undefined }, 'title'],
      [{ contact: '' }, 'contact'],
      [{ pipeline: 999_999_999 }, 'pipeline'],
      [{ pipeline: 999_999_999, stage: stages[0] }, 'pipeline'],
      [{ pipeline: stranger.pipeline.id }, 'pipeline'],
      [{ pipeline: 'Sales' }, 'pipeline'],
      [{ stage: 999_999_999 }, 'stage'],
      [{ stage: stranger.stages[0] }, 'stage'],
      [{ stage: 0 }, 'stage'],
      [{ pipeline: pipeline.id, stage: other.stages[0]!.id }, 'stage'],
    ];
    for (const [input, field] of [...wrongAlways, ...wrongOfNew]) {
      const response = await account.request('POST', '/v1/crm/deals', { body: { title: 'x', ...input } });
      expect([input, response]).toMatchObject([input, invalid(field)]);
    }
    for (const [input, field] of wrongAlways)
      expect([input, await patch(made.id, input)]).toMatchObject([input, invalid(field)]);
    expect((await account.client.crm.deals.list()).data).toEqual([made]);
  });

  it('accepts texts up to their limits in code points, and a value up to 2^53 - 1', async () => {
    const { account, deal, patch, change } = await openSales(platform);
    const { id } = await deal({ value_minor: 2 ** 53 - 1 });
    const limits = { title: 200, notes: 5_000 };
    for (const [field, limit] of Object.entries(limits)) {
      for (const letter of ['x', '😀']) {
        for (const length of [limit - 1, limit]) {
          const text = letter.repeat(length);
          expect((await deal({ [field]: text }))[field as 'title']).toBe(text);
          expect((await patch(id, { [field]: text })).body[field]).toBe(text);
        }
        const body = { title: 'x', [field]: letter.repeat(limit + 1) };
        expect(await account.request('POST', '/v1/crm/deals', { body })).toMatchObject(invalid(field));
        expect(await patch(id, body)).toMatchObject(invalid(field));
      }
    }
    expect(await change(id, 'lose', { reason: '😀'.repeat(501) })).toMatchObject(invalid('reason'));
    for (const reason of ['😀'.repeat(499), '😀'.repeat(500)]) {
      expect((await change(id, 'lose', { reason })).status).toBe(200);
      await platform.event(account.id, 'deal.lost', (data) => data.reason === reason);
      await change(id, 'reopen');
    }
    expect((await account.client.crm.deals.get({ params: { deal_id: id } })).value_minor).toBe(2 ** 53 - 1);
  });
});

describe('updating a deal', () => {
  it('emits the previous values of changed fields', async () => {
    const { account, deal, patch, get } = await openSales(platform);
    const contact = await account.client.cdp.contacts.create({ body: { name: 'Ada' } });
    const made = await deal({ notes: 'kept' });
    platform.clock.advance(60_000);
    const values = { title: 'Other', value_minor: 5, currency: 'USD', contact: contact.id };
    const response = await patch(made.id, values);
    const after = {
      ...made,
      ...values,
      contact: { id: contact.id, name: 'Ada', phone: '' },
      updated_at: expect.stringMatching(/^2026-06-01T10:01/),
    };
    expect(response).toMatchObject({ status: 200, body: after });
    expect(await get(made.id)).toEqual(after);
    const event = await platform.event(account.id, 'deal.updated');
    const previous = { title: 'A deal', value_minor: 0, currency: 'EUR', contact: null };
    expect(event.data).toEqual({ deal: after, previous });
    const without = await patch(made.id, { contact: '' });
    expect(without.body).toEqual({ ...after, contact: null });
    const taken = await platform.event(account.id, 'deal.updated', (data) => data.deal.contact === null);
    expect(taken.data).toEqual({ deal: without.body, previous: { contact: after.contact } });
  });

  it('changes nothing and emits nothing if the values are the same', async () => {
    const { account, deal, patch, change } = await openSales(platform);
    const contact = await account.client.cdp.contacts.create({ body: { name: 'Ada' } });
    const made = await deal({ contact: contact.id, notes: 'x' });
    platform.clock.advance(5_000);
    const { title, value_minor, currency, notes } = made;
    const same = { title, value_minor, currency, notes, contact: contact.id };
    for (const body of [{}, same, { contact: contact.id.toUpperCase() }]) {
      expect(await patch(made.id, body)).toMatchObject({ status: 200, body: made });
    }
    const bare = await deal();
    expect((await patch(bare.id, { contact: '' })).body).toEqual(bare);
    await change(made.id, 'win');
    expect(await eventsUntil(platform, account.id, 'deal.updated', 'deal.won')).toBe(0);
  });

  it('clears an optional field with null, and refuses null for a required one', async () => {
    const { account, deal, patch, get } = await openSales(platform);
    const contact = await account.client.cdp.contacts.create({ body: { name: 'Ada' } });
    const made = await deal({ contact: contact.id, notes: 'x' });
    for (const field of ['title', 'value_minor', 'currency', 'stage', 'pipeline', 'status']) {
      expect([field, await patch(made.id, { notes: 'y', [field]: null })]).toMatchObject([field, invalid(field)]);
    }
    expect(await get(made.id)).toEqual(made);
    expect((await patch(made.id, { notes: null })).body).toMatchObject({ notes: '', contact: made.contact });
    expect((await patch(made.id, { contact: null })).body).toMatchObject({ notes: '', contact: null });
    const bare = await get(made.id);
    expect((await patch(made.id, { notes: null, contact: null })).body).toEqual(bare);
  });

  it('is possible for a closed deal too', async () => {
    const { deal, change, patch } = await openSales(platform);
    const { id } = await deal();
    await change(id, 'win');
    expect((await patch(id, { notes: 'paid' })).body).toMatchObject({ notes: 'paid', status: 'won' });
  });

  it.each(['stage', 'pipeline', 'status'])('refuses %s, whatever its value', async (field) => {
    const { deal, patch, get } = await openSales(platform);
    const made = await deal();
    for (const value of [made.stage.id, 'open', 'won', {}]) {
      expect(await patch(made.id, { title: 'not kept', [field]: value })).toMatchObject(invalid(field));
    }
    expect(await get(made.id)).toEqual(made);
  });
});

it('deleting a deal returns 204 once, emits an event with its title, and removes everything', async () => {
  const { account, deal } = await openSales(platform);
  const { id } = await deal();
  const bus = await busOf(platform, 'calendar');
  const asked = () => bus.ask(getDealSummary, account.id, { deal: id });
  try {
    expect(await asked()).toMatchObject({
      deal: { id, created_at: expect.stringMatching(/^2026-06-01T08:.*\+00:00$/) },
    });
    expect((await account.request('DELETE', `/v1/crm/deals/${id}`)).status).toBe(204);
    expect(await asked()).toEqual({ deal: null });
  } finally {
    await bus.close();
  }
  for (const method of ['GET', 'DELETE']) {
    expect(await account.request(method, `/v1/crm/deals/${id}`)).toMatchObject(missing);
  }
  const told = await waitFor('the event', async () => {
    const { data } = await account.client.events.list({ query: { type: 'deal.deleted' } });
    return data.length > 0 && data;
  });
  expect(told).toMatchObject([{ type: 'deal.deleted', data: { deal: { id, title: 'A deal' } } }]);
  expect((await account.client.crm.deals.list()).data).toEqual([]);
});
