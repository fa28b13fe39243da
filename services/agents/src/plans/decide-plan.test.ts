import type { Plan } from '@customer-platform/contracts/agents';
import { startPlatform } from '@customer-platform/testkit';
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

/** Waits until another plan of the account has completed, so that an unwanted change would be visible. */
const anotherIsDone = async () => {
  const { id } = await agency.plan({ mode: 'none', steps: ['add_note'] });
  await agency.until(id, 'completed');
};

describe('a plan that awaits approval', () => {
  it('shows its contact, its trigger, and its steps', async () => {
    const plan = await agency.plan({ steps: ['send_message', 'add_note', 'follow_up'] });
    const { contact, deal, pipeline, agent } = agency;
    expect(plan).toMatchObject({
      agent: { id: agent, name: 'Ada', role: 'Sells tea' },
      scope: 'contact',
      campaign_id: null,
      audience: null,
      contact: { id: contact.number, uuid: contact.id, name: 'Carla Client', msisdn: '+4930901801' },
      deal: { id: 1, title: 'Tea', stage: 'New' },
      pipeline: { id: pipeline.id, name: pipeline.name },
      trigger: 'inbound_message',
      trigger_excerpt: 'Have you got tea?',
      goal: 'Sell tea',
      story_id: null,
      status: 'awaiting_approval',
      approval_mode: 'plan',
      tokens: 12,
      model: 'simulated',
      decided_by: null,
      decision_note: null,
      last_error: null,
      next_run_at: plan.steps[0]!.run_at,
    });
    expect(plan.steps).toMatchObject([
      { order: 1, action: 'send_message', body: 'Hello', detail: 'sms', status: 'pending', result: null },
      { order: 2, action: 'add_note', body: 'Asked for tea', detail: null, params: { body: 'Asked for tea' } },
      { order: 3, action: 'follow_up', body: null, detail: 'Ask again', editable: ['goal'] },
    ]);
    expect(plan.created).toMatch(/\+0[12]:00$/);
    expect(deal.title).toBe('Tea');
  });

  it.each(['plan', 'step'] as const)('starts its delays at the approval (%s)', async (mode) => {
    // As if planned 45 minutes ago with a delay of an hour.
    const run_at = new Date(platform.clock.now().getTime() + 15 * 60_000);
    const steps = [60, 0].map((delay_minutes) => ({ action: 'add_note' as const, delay_minutes, run_at }));
    const { id } = await agency.plan({ mode, steps });
    const before = platform.clock.now().getTime();
    const approved: Plan = (await agency.decide(id, 'approve')).body;
    const after = platform.clock.now().getTime();
    for (const [index, minutes] of [60, 0].entries()) {
      const from = Date.parse(approved.steps[index]!.run_at) - minutes * 60_000;
      expect(from).toBeGreaterThanOrEqual(before);
      expect(from).toBeLessThanOrEqual(after);
    }
    const stored = await agency.get(id);
    expect(stored.steps.map((step) => step.run_at)).toEqual(approved.steps.map((step) => step.run_at));
  });

  it('does nothing before it is approved', async () => {
    const { id } = await agency.plan({ steps: ['add_note'] });
    await anotherIsDone();
    expect(await agency.get(id)).toMatchObject({ status: 'awaiting_approval', steps: [{ status: 'pending' }] });
  });

  it('runs once it is approved, and shows who decided and the note', async () => {
    const { id } = await agency.plan({ steps: ['add_note', 'send_message'] });
    const { status, body } = await agency.decide(id, 'approve', { note: 'Fine' });
    expect([status, body]).toMatchObject([200, { status: 'running', decided_by: 'api', decision_note: 'Fine' }]);
    const done = await agency.until(id, 'completed');
    expect(statuses(done)).toEqual(['done', 'done']);
    expect(await agency.eventsUntil('plan.completed')).toEqual(['plan.approved', 'plan.completed']);
    const { data } = await platform.event(agency.id, 'plan.approved');
    expect(data).toMatchObject({ plan: { id, status: 'running' }, previous: { status: 'awaiting_approval' } });
    expect(data.previous).toEqual({ status: 'awaiting_approval', decided_by: null, decision_note: null });
  });

  it('is approved once by concurrent approvals: one event, and each step runs once', async () => {
    const { id } = await agency.plan({ steps: ['add_note', 'send_message'] });
    const responses = await Promise.all(Array.from({ length: 20 }, () => agency.decide(id, 'approve')));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    await agency.until(id, 'completed');
    expect(await agency.eventsUntil('plan.completed')).toEqual(['plan.approved', 'plan.completed']);
    expect((await agency.client.crm.deals.get({ params: { deal_id: agency.deal.id } })).notes).toBe('Asked for tea');
    expect((await agency.client.messages.list({ query: { reference: `plan-${id}` } })).data).toHaveLength(1);
  });

  it('is either approved or rejected by concurrent decisions, never both', async () => {
    const { id } = await agency.plan({ steps: ['add_note'] });
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => agency.decide(id, index % 2 ? 'approve' : 'reject')),
    );
    const taken = responses.filter(({ status }) => status === 200).map(({ body }) => body.status as string);
    const isApproved = !taken.includes('rejected');
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(10);
    expect(taken.every((status) => (status === 'rejected') !== isApproved)).toBe(true);
    const end = await agency.until(id, isApproved ? 'completed' : 'rejected');
    expect(statuses(end)).toEqual([isApproved ? 'done' : 'cancelled']);
  });

  it('that is rejected never runs a step', async () => {
    const { id } = await agency.plan({ steps: ['add_note', 'send_message'] });
    const { body } = await agency.decide(id, 'reject', { note: 'No' });
    expect(body).toMatchObject({ status: 'rejected', decided_by: 'api', decision_note: 'No', next_run_at: null });
    expect(statuses(body)).toEqual(['cancelled', 'cancelled']);
    await anotherIsDone();
    expect(await agency.get(id)).toEqual(body);
    expect(await agency.eventsUntil('plan.completed')).toEqual(['plan.rejected', 'plan.completed']);
  });

  it('accepts notes of up to 500 characters', async () => {
    const { id } = await agency.plan({ more: { approval_reasons: [] } });
    expect(await agency.decide(id, 'reject', { note: 'ä'.repeat(501) })).toMatchObject(invalid('note'));
    const { body } = await agency.decide(id, 'reject', { note: 'ä'.repeat(500) });
    expect(body.decision_note).toHaveLength(500);
  });
});

describe('a repeated decision', () => {
  it.each(['approve', 'reject', 'cancel'])('changes nothing and sends nothing: %s', async (decision) => {
    const { id } = await agency.plan({ steps: ['add_note'] });
    const { body: first } = await agency.decide(id, decision, { note: 'First' });
    if (decision === 'approve') await agency.until(id, 'completed');
    const before = await agency.get(id);
    const again = await agency.decide(id, decision, { note: 'Second' });
    expect([again.status, again.body]).toEqual([200, before]);
    expect([first.decision_note, before.decision_note]).toEqual(['First', 'First']);
    await anotherIsDone();
    const kinds = await agency.eventsUntil('plan.completed');
    expect(kinds.filter((kind) => /approved|rejected/.test(kind))).toHaveLength(decision === 'cancel' ? 0 : 1);
  });
});

describe('a decision that contradicts an earlier one', () => {
  const states: [string, () => Promise<number>, string[]][] = [
    ['a rejected plan', async () => decided('reject'), ['approve', 'cancel']],
    ['a cancelled plan', async () => decided('cancel'), ['approve', 'reject']],
    [
      'a completed plan',
      async () => (await agency.until(await decided('approve'), 'completed')).id,
      ['reject', 'cancel'],
    ],
    ['an expired plan', async () => (await agency.plan({ status: 'expired' })).id, ['approve', 'reject', 'cancel']],
    ['a failed plan', async () => (await agency.plan({ status: 'failed' })).id, ['approve', 'reject', 'cancel']],
    ['a plan that needs no approval', async () => waiting('none'), ['approve', 'reject']],
    ['a plan that was approved and runs', async () => waiting('plan', { decided_by: 'api' }), ['reject']],
    [
      'a plan that is still being made',
      async () => (await agency.plan({ status: 'running', steps: [], more: making })).id,
      ['approve', 'reject'],
    ],
  ];
  const making = { planning_due_at: new Date(Date.now() + 3_600_000) };
  const decided = async (decision: string) => {
    const { id } = await agency.plan({ steps: ['add_note'] });
    expect((await agency.decide(id, decision)).status).toBe(200);
    return id;
  };
  const waiting = async (mode: 'none' | 'plan', more = {}) => {
    const run_at = new Date(Date.now() + 3_600_000);
    return (await agency.plan({ mode, status: 'running', steps: [{ action: 'add_note', run_at }], more })).id;
  };

  it.each(states)('is refused, and changes nothing: of %s', async (_, make, decisions) => {
    const id = await make();
    const before = await agency.get(id);
    for (const decision of decisions) {
      const response = await agency.decide(id, decision);
      expect([decision, response]).toMatchObject([decision, crossing]);
      expect(response.body.error.message).toMatch(/^\w.{15,}/);
    }
    expect(await agency.get(id)).toEqual(before);
  });
});

describe('a plan that is canceled', () => {
  it('runs no step that has not begun', async () => {
    const run_at = new Date(platform.clock.now().getTime() + 3_600_000);
    const steps = ['add_note' as const, { action: 'send_message' as const, run_at }];
    const { id } = await agency.plan({ mode: 'none', steps });
    await platform.event(agency.id, 'deal.updated');
    const { status, body } = await agency.decide(id, 'cancel', { note: 'Enough' });
    expect([status, body]).toMatchObject([200, { status: 'cancelled', decision_note: 'Enough', next_run_at: null }]);
    expect(body.steps[1].status).toBe('cancelled');
    const [left] = await sql`select count(*)::int as count from plan_steps where plan_id = ${id} and due_at is not null
      and status <> 'running'`;
    expect(left!.count).toBe(0);
  });

  it('is no longer made if it is still being planned', async () => {
    const more = { planning_due_at: new Date(Date.now() + 3_600_000) };
    const { id } = await agency.plan({ status: 'running', steps: [], more });
    expect((await agency.decide(id, 'cancel')).body.status).toBe('cancelled');
    const [row] = await sql`select planning_due_at from plans where id = ${id}`;
    expect(row!.planning_due_at).toBeNull();
  });
});

it('a decision after the deadline is refused, even before the plan is marked as expired', async () => {
  const { id } = await agency.plan({ lapsesIn: 0 });
  for (const decision of ['approve', 'reject', 'cancel'])
    expect(await agency.decide(id, decision)).toMatchObject(crossing);
  expect(statuses(await agency.until(id, 'expired'))).toEqual(['cancelled']);
});
