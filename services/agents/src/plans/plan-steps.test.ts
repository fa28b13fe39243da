import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { invalid } from '../../test/agents.ts';
import { type Agency, crossing, openAgency, statuses } from '../../test/plans.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
const sql = platform.database('agents');
afterAll(() => platform.stop());

let agency: Agency;
beforeEach(async () => {
  agency = await openAgency(platform, sql);
});

/** Creates a plan of three notes that are decided one by one. Returns it and a function that decides a step by its order. */
async function threeNotes() {
  const note = (body: string) => ({ action: 'add_note' as const, params: { body } });
  const plan = await agency.plan({ mode: 'step', steps: [note('one'), note('two'), note('three')] });
  const decide = (order: number, decision: 'approve' | 'reject', body = {}) =>
    agency.decideStep(plan.id, plan.steps[order - 1]!.id, decision, body);
  return { id: plan.id, plan, decide };
}
const notes = async () => (await agency.client.crm.deals.get({ params: { deal_id: agency.deal.id } })).notes;

describe('a step that is decided by itself', () => {
  it('starts the plan with one event if it is approved first, and each step runs when it is approved', async () => {
    const { id, plan, decide } = await threeNotes();
    expect([plan.next_run_at, statuses(plan)]).toEqual([null, Array(3).fill('awaiting_approval')]);
    const { body: first } = await decide(1, 'approve', { note: 'Go' });
    expect(first).toMatchObject({ status: 'running', decided_by: 'api', decision_note: 'Go' });
    await decide(2, 'approve', { note: 'On' });
    await decide(3, 'approve');
    const done = await agency.until(id, 'completed');
    expect([statuses(done), done.decision_note, await notes()]).toEqual([
      Array(3).fill('done'),
      'Go',
      'one\n\ntwo\n\nthree',
    ]);
    expect(await agency.eventsUntil('plan.completed')).toEqual(['plan.approved', 'plan.completed']);
  });

  it('waits for the decisions on earlier steps', async () => {
    const { id, decide } = await threeNotes();
    await decide(3, 'approve');
    const { body } = await decide(2, 'approve');
    expect(statuses(body)).toEqual(['awaiting_approval', 'pending', 'pending']);
    const other = await agency.plan({ mode: 'none', steps: ['follow_up'] });
    await agency.until(other.id, 'completed');
    expect([await notes(), statuses(await agency.get(id))]).toEqual(['', statuses(body)]);
    await decide(1, 'reject');
    expect(statuses(await agency.until(id, 'completed'))).toEqual(['skipped', 'done', 'done']);
    expect(await notes()).toBe('two\n\nthree');
  });

  it('rejects the plan if all are rejected, and the plan shows the last note', async () => {
    const { id, decide } = await threeNotes();
    await decide(2, 'reject', { note: 'Not that' });
    expect((await decide(1, 'reject')).body).toMatchObject({ status: 'awaiting_approval', decided_by: null });
    const { body } = await decide(3, 'reject', { note: 'Nor that' });
    expect(body).toMatchObject({ status: 'rejected', decided_by: 'api', decision_note: 'Nor that' });
    expect(statuses(body)).toEqual(Array(3).fill('skipped'));
    expect(await agency.eventsUntil('plan.rejected')).toEqual(['plan.rejected']);
    expect(await agency.get(id)).toEqual(body);
  });

  it('completes the plan if the last remaining step is rejected', async () => {
    const { id, decide } = await threeNotes();
    for (const order of [1, 2]) await decide(order, 'approve');
    await waitFor('the second step', async () => statuses(await agency.get(id))[1] === 'done');
    const { body } = await decide(3, 'reject');
    expect([body.status, statuses(body)]).toEqual(['completed', ['done', 'done', 'skipped']]);
    const { data } = await platform.event(agency.id, 'plan.completed');
    expect(data.previous).toMatchObject({ status: 'running' });
  });

  it('is approved with all others by an approval of the plan', async () => {
    const { id, decide } = await threeNotes();
    await decide(2, 'reject');
    await decide(1, 'approve', { note: 'One' });
    expect((await agency.decide(id, 'approve', { note: 'All' })).body.decision_note).toBe('One');
    expect(statuses(await agency.until(id, 'completed'))).toEqual(['done', 'skipped', 'done']);
    expect(await agency.eventsUntil('plan.completed')).toEqual(['plan.approved', 'plan.completed']);
    expect((await agency.decide(id, 'approve')).status).toBe(200);
  });

  it('accepts the same decision again, but not a contradicting one', async () => {
    const { id, decide } = await threeNotes();
    await decide(1, 'approve');
    await decide(2, 'reject');
    expect((await decide(1, 'approve')).status).toBe(200);
    expect((await decide(2, 'reject')).status).toBe(200);
    expect(await decide(1, 'reject')).toMatchObject(crossing);
    expect(await decide(2, 'approve')).toMatchObject(crossing);
    expect(await agency.decide(id, 'reject')).toMatchObject(crossing);
    const { body } = await agency.decide(id, 'cancel');
    expect([statuses(body)[1], statuses(body)[2]]).toEqual(['skipped', 'cancelled']);
    for (const decision of ['approve', 'reject'] as const) expect(await decide(3, decision)).toMatchObject(crossing);
  });

  it('is either approved or rejected by concurrent decisions, never both', async () => {
    const { id, decide } = await threeNotes();
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => decide(1 + (index % 3), index % 2 ? 'approve' : 'reject')),
    );
    expect(responses.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    for (const index of [0, 1, 2]) {
      const decisions = responses.flatMap(({ status }, at) =>
        at % 3 === index && status === 200 ? [at % 2 ? 'approve' : 'reject'] : [],
      );
      expect(new Set(decisions).size).toBe(1);
    }
    expect(statuses(await agency.get(id))).not.toContain('awaiting_approval');
    // Decided last, so any unexpected event would have arrived before its event.
    const marker = await agency.plan();
    await agency.decide(marker.id, 'reject');
    await platform.event(agency.id, 'plan.rejected', ({ plan }) => plan.id === marker.id);
    const kinds = platform.events(agency.id).flatMap(({ type, data }) => (data.plan?.id === id ? [type] : []));
    const isApproved = responses.some(({ status }, at) => status === 200 && at % 2 === 1);
    expect(kinds.filter((kind) => kind !== 'plan.completed')).toEqual([isApproved ? 'plan.approved' : 'plan.rejected']);
  });

  it('must belong to a plan whose steps are decided one by one', async () => {
    const { id, steps } = await agency.plan({ steps: ['add_note'] });
    for (const decision of ['approve', 'reject'])
      expect(await agency.decideStep(id, steps[0]!.id, decision)).toMatchObject(crossing);
    expect((await agency.get(id)).status).toBe('awaiting_approval');
  });

  it('is found only in its own plan', async () => {
    const [one, other] = [await threeNotes(), await agency.plan()];
    expect((await agency.decideStep(other.id, one.plan.steps[0]!.id, 'approve')).status).toBe(404);
    expect((await agency.decideStep(one.id, 1_000_000_000, 'reject')).status).toBe(404);
    expect((await agency.change({ ...other, steps: one.plan.steps }, 1, { body: 'x' })).status).toBe(404);
  });
});

describe('an undecided step', () => {
  it('sends and writes its changed values, and shows them', async () => {
    const plan = await agency.plan({ steps: ['add_note', 'send_message', 'follow_up', 'move_stage'] });
    await agency.change(plan, 1, { body: 'Another note' });
    await agency.change(plan, 2, { body: 'Another text', channel: 'whatsapp' });
    await agency.change(plan, 3, { goal: 'Another goal' });
    const { status, body } = await agency.change(plan, 4, { stage: agency.stages[1] });
    expect([status, body.steps]).toMatchObject([
      200,
      [
        { body: 'Another note', params: { body: 'Another note' }, detail: null },
        { body: 'Another text', detail: 'whatsapp', params: { channel: 'whatsapp', channel_locked: false } },
        { body: null, detail: 'Another goal', params: { goal: 'Another goal' } },
        { detail: 'Qualified', params: { stage: agency.stages[1] } },
      ],
    ]);
    expect(await agency.get(plan.id)).toEqual(body);
    await agency.decide(plan.id, 'approve');
    await agency.until(plan.id, 'completed');
    const { data } = await agency.client.messages.list({ query: { reference: `plan-${plan.id}` } });
    expect(data).toMatchObject([{ body: 'Another text', channel: 'whatsapp' }]);
    const deal = await agency.client.crm.deals.get({ params: { deal_id: agency.deal.id } });
    expect(deal).toMatchObject({ notes: 'Another note', stage: { name: 'Qualified' } });
  });

  it('is unchanged by no or the same values, and a change sends no event', async () => {
    const plan = await agency.plan({ steps: ['send_message'] });
    for (const body of [{}, { body: 'Hello' }, { title: 'Unknown' }])
      expect(await agency.change(plan, 1, body)).toMatchObject({ status: 200, body: plan });
    expect(await agency.change(plan, 1, { body: null })).toMatchObject(invalid('body'));
    await agency.change(plan, 1, { body: 'Other' });
    await agency.decide(plan.id, 'reject');
    expect(await agency.eventsUntil('plan.rejected')).toEqual(['plan.rejected']);
  });

  it('can be changed only in its editable params', async () => {
    const locked = { channel: 'sms' as const, body: 'As written', channel_locked: true };
    const steps = [{ action: 'send_message' as const, params: locked, editable: ['body'] }, 'add_note' as const];
    const plan = await agency.plan({ steps: [...steps, { action: 'send_message', params: locked, editable: [] }] });
    expect(await agency.change(plan, 1, { body: 'Mine', channel: 'email' })).toMatchObject(invalid('channel'));
    expect(await agency.change(plan, 2, { goal: 'Mine' })).toMatchObject(invalid('goal'));
    expect(await agency.change(plan, 3, { body: 'Mine' })).toMatchObject(invalid('body'));
    expect(await agency.change(plan, 1, { channel_locked: false })).toMatchObject(invalid('channel_locked'));
    expect(await agency.get(plan.id)).toEqual(plan);
  });

  it('accepts values up to the limits of its action', async () => {
    const plan = await agency.plan({ steps: ['send_message', 'add_note', 'follow_up', 'move_stage'] });
    const cases: [number, string, unknown, unknown][] = [
      [1, 'body', 'ä'.repeat(4_096), 'ä'.repeat(4_097)],
      [2, 'body', '😀'.repeat(2_000), '😀'.repeat(2_001)],
      [3, 'goal', 'ä'.repeat(500), 'ä'.repeat(501)],
      [1, 'channel', 'whatsapp', 'post'],
      [4, 'stage', agency.stages[2], 'Proposal'],
    ];
    for (const [order, name, right, wrong] of cases) {
      expect(await agency.change(plan, order, { [name]: wrong })).toMatchObject(invalid(name));
      expect([name, (await agency.change(plan, order, { [name]: right })).status]).toEqual([name, 200]);
    }
    for (const [order, name] of cases) {
      if (name !== 'channel') expect(await agency.change(plan, order, { [name]: '' })).toMatchObject(invalid(name));
    }
  });

  it('can be changed if the plan stays within 400 KiB as JSON, or becomes shorter', async () => {
    const plan = await agency.plan({ steps: Array(10).fill('send_message') });
    const change = (order: number, length: number) => agency.change(plan, order, { body: '\u0001'.repeat(length) });
    for (let order = 1; order <= 8; order++) expect((await change(order, 4_096)).status).toBe(200);
    const { status, body } = await change(9, 4_096);
    expect([status, body.error]).toEqual([
      400,
      {
        code: 'invalid_request',
        message: expect.stringMatching(/^body must be shorter: .* at most 409600 are allowed$/),
        field: 'body',
      },
    ]);
    expect((await agency.get(plan.id)).steps[8]!.body).toBe('Hello');
    expect((await change(8, 4_000)).status).toBe(200);
  });

  it('accepts only channels that reach the contact', async () => {
    const plan = await agency.plan();
    const refusal = await agency.change(plan, 1, { channel: 'email' });
    expect(refusal).toMatchObject(invalid('channel'));
    expect(refusal.body.error.message).toContain('whatsapp, sms');
    const { id: contact_id } = agency.contact;
    await agency.client.cdp.contacts.update({ params: { contact_id }, body: { email: 'carla@example.com' } });
    expect((await agency.change(plan, 1, { channel: 'email' })).body.steps).toMatchObject([{ detail: 'email' }]);
  });

  it('moves only to stages of its own pipeline', async () => {
    const { client } = agency;
    const other = await client.crm.pipelines.create({ body: { name: 'Other', stages: [{ name: 'Elsewhere' }] } });
    const plan = await agency.plan({ steps: ['move_stage'] });
    for (const stage of [other.stages[0]!.id, 1_000_000_000])
      expect(await agency.change(plan, 1, { stage })).toMatchObject(invalid('stage'));
    expect(await agency.get(plan.id)).toEqual(plan);
  });

  it('cannot be changed once it is decided or its deadline has passed', async () => {
    const [approved, rejected] = [await agency.plan(), await agency.plan()];
    await agency.decide(approved.id, 'approve');
    await agency.decide(rejected.id, 'reject');
    const expired = await agency.plan({ lapsesIn: 0 });
    for (const plan of [approved, rejected, expired])
      expect(await agency.change(plan, 1, { body: 'Late' })).toMatchObject(crossing);
    const { plan, decide } = await threeNotes();
    await decide(2, 'approve');
    expect(await agency.change(plan, 2, { body: 'Late' })).toMatchObject(crossing);
    expect((await agency.change(plan, 1, { body: 'In time' })).status).toBe(200);
  });
});
