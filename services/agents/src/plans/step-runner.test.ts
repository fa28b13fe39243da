import { takeMessage } from '@customer-platform/contracts/messaging';
import { inTransaction, type Running, startService } from '@customer-platform/service-kit';
import { busOf, mergeContacts, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Agency, openAgency, statuses } from '../../test/plans.ts';
import { agents } from '../start.ts';
import { lockPlan } from './plans.sql.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
const sql = platform.database('agents');
const bus = await busOf(platform, 'agents');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

let agency: Agency;
beforeEach(async () => {
  agency = await openAgency(platform, sql);
});

const messagesOf = async (plan: number) =>
  (await agency.client.messages.list({ query: { reference: `plan-${plan}` } })).data;
const dealNow = () => agency.client.crm.deals.get({ params: { deal_id: agency.deal.id } });
const in1h = () => new Date(platform.clock.now().getTime() + 3_600_000);

describe('a step that runs', () => {
  it("sends its message to the contact, and returns the message's id", async () => {
    const { id } = await agency.plan({ mode: 'none' });
    const { steps } = await agency.until(id, 'completed');
    const [message] = await messagesOf(id);
    expect(message).toMatchObject({ body: 'Hello', channel: 'sms', contact: { id: agency.contact.id } });
    expect(steps).toMatchObject([{ status: 'done', result: { message: message!.id } }]);
  });

  it('adds its note to the deal, and moves the deal', async () => {
    const move = { action: 'move_stage' as const, params: { stage: agency.stages[2]! }, detail: 'Proposal' };
    const { id } = await agency.plan({ mode: 'none', steps: ['add_note', move] });
    const { steps } = await agency.until(id, 'completed');
    expect(await dealNow()).toMatchObject({ notes: 'Asked for tea', stage: { name: 'Proposal' } });
    expect(steps.map(({ result }) => result)).toEqual([{ deal: agency.deal.id }, { deal: agency.deal.id }]);
  });

  it('as a follow-up requests a plan of the same agent for the same contact', async () => {
    const { id } = await agency.plan({ mode: 'none', steps: ['follow_up'], more: { follow_ups: 3 } });
    const { steps } = await agency.until(id, 'completed');
    const next = (steps[0]!.result as { plan: number }).plan;
    expect(await agency.get(next)).toMatchObject({
      trigger: 'follow_up',
      trigger_excerpt: 'Ask again',
      agent: { id: agency.agent },
      contact: { id: agency.contact.number, uuid: agency.contact.id },
    });
    const rows = await sql`select follow_ups from plans where account_id = ${agency.id} and id <> ${id}`;
    expect([...rows]).toEqual([{ follow_ups: 4 }]);
  });

  it('runs when it is due, after the earlier steps', async () => {
    const later = { action: 'add_note' as const, params: { body: 'later' }, run_at: in1h() };
    const { id, next_run_at } = await agency.plan({ mode: 'none', steps: ['send_message', later, 'add_note'] });
    const waiting = await waitFor('the first step', async () => {
      const plan = await agency.get(id);
      return plan.steps[0]!.status === 'done' && plan;
    });
    expect(statuses(waiting)).toEqual(['done', 'pending', 'pending']);
    expect([Date.parse(next_run_at!), waiting.status]).toEqual([Date.parse(waiting.next_run_at!), 'running']);
    platform.clock.advance(3_600_000);
    await agency.until(id, 'completed');
    expect((await dealNow()).notes).toBe('later\n\nAsked for tea');
  });

  it('goes to the survivor of a merged contact', async () => {
    const { client } = agency;
    const survivor = await client.cdp.contacts.create({ body: { name: 'Carla Client', phone: '+4930901801' } });
    const { id } = await agency.plan({ steps: ['send_message'] });
    await mergeContacts(client, { keep: survivor.id, merged: agency.contact.id });
    await waitFor('the merge', async () => (await agency.get(id)).contact.uuid === survivor.id);
    await agency.decide(id, 'approve');
    await agency.until(id, 'completed');
    expect(await messagesOf(id)).toMatchObject([{ contact: { id: survivor.id } }]);
  });
});

it('a reply goes to the number from which the customer wrote, even after a merge', async () => {
  const { client, id } = agency;
  const messaging = platform.database('messaging');
  const from = agency.contact.phone!;
  const [inbound] = await messaging`
    insert into inbound_messages (account_id, channel, provider_id, sender, sender_name, body, at, arrived_at, contact_id)
    values (${id}, 'sms', 'i-1', ${from}, '', 'Have you got tea?', now(), now(), ${agency.contact.id}) returning id`;
  const survivor = await client.cdp.contacts.create({ body: { name: 'Carla Client', phone: '+4930901802' } });
  const plan = await agency.plan({ steps: ['send_message'], more: { trigger_id: inbound!.id } });
  await mergeContacts(client, { keep: survivor.id, merged: agency.contact.id });
  await waitFor('the merge', async () => (await agency.get(plan.id)).contact.uuid === survivor.id);
  await agency.decide(plan.id, 'approve');
  await agency.until(plan.id, 'completed');
  expect(await messagesOf(plan.id)).toMatchObject([{ to: from, contact: { id: survivor.id } }]);
});

describe('a step that fails', () => {
  it('ends its plan with the error, and no later step runs', async () => {
    await agency.client.crm.deals.win({ params: { deal_id: agency.deal.id } });
    const { id } = await agency.plan({ mode: 'none', steps: ['add_note', 'move_stage', 'send_message'] });
    const failed = await agency.until(id, 'failed');
    expect(statuses(failed)).toEqual(['done', 'failed', 'cancelled']);
    expect([failed.last_error, failed.steps[1]!.result]).toEqual([
      'Step 2: The deal is won',
      { error: 'The deal is won' },
    ]);
    expect(await agency.eventsUntil('plan.failed')).toEqual(['plan.failed']);
    const { data } = await platform.event(agency.id, 'plan.failed');
    expect(data).toMatchObject({ plan: { id, status: 'failed' }, previous: { status: 'running', last_error: null } });
    expect(await messagesOf(id)).toEqual([]);
  });

  it('fails without effect if a module that it needs is switched off when it is due', async () => {
    const change = (body: object) => platform.admin('PATCH', `/admin/accounts/${agency.account.id}`, body);
    const { id: note } = await agency.plan({ mode: 'none', steps: [{ action: 'add_note', run_at: in1h() }] });
    expect((await change({ modules: { crm: { on: false } } })).status).toBe(200);
    platform.clock.advance(3_600_000);
    expect((await agency.until(note, 'failed')).last_error).toBe('Step 1: Pipelines is switched off');
  });

  it('fails without effect if its account is suspended when it is due, and is not resumed later', async () => {
    const change = (body: object) => platform.admin('PATCH', `/admin/accounts/${agency.account.id}`, body);
    const actions = ['send_message', 'follow_up', 'add_note', 'move_stage'] as const;
    const plans = await Promise.all(
      actions.map((action) => agency.plan({ mode: 'none', steps: [{ action, run_at: in1h() }] })),
    );
    const suspended = plans.map(({ id }) => id);
    await change({ status: 'suspended' });
    platform.clock.advance(3_600_000);
    await waitFor('their ends', async () => {
      const rows = await sql`select 1 from plans where id = any(${suspended}::bigint[]) and status = 'failed'`;
      return rows.length === actions.length;
    });
    await change({ status: 'active' });
    const error = 'account_suspended: The account is suspended';
    for (const id of suspended) {
      const { last_error, steps } = await agency.until(id, 'failed');
      expect([last_error, steps[0]!.result]).toEqual([`Step 1: ${error}`, { error }]);
      expect(await messagesOf(id)).toEqual([]);
    }
    expect(await dealNow()).toMatchObject({ notes: '', stage: { name: 'New' } });
    expect(await sql`select 1 from plans where account_id = ${agency.id}`).toHaveLength(actions.length);
  });

  it('fails without effect if its action was switched off for the agent after planning', async () => {
    const actions = ['send_message', 'add_note', 'follow_up', 'move_stage'] as const;
    const later = (action: (typeof actions)[number]) =>
      agency.plan({ mode: 'none', steps: [{ action, run_at: in1h() }] });
    const plans = await Promise.all(actions.map(later));
    const waiting = await agency.plan({ steps: ['send_message'] });
    const params = { agent_id: agency.agent };
    await agency.client.agents.update({ params, body: { actions: [] } });
    await agency.decide(waiting.id, 'approve');
    platform.clock.advance(3_600_000);
    for (const { id, steps } of [...plans, waiting]) {
      const error = `${steps[0]!.action} is switched off for the agent`;
      const failed = await agency.until(id, 'failed');
      expect([failed.last_error, failed.steps[0]!.result]).toEqual([`Step 1: ${error}`, { error }]);
      expect(await messagesOf(id)).toEqual([]);
    }
    expect(await dealNow()).toMatchObject({ notes: '', stage: { name: 'New' } });
    expect(await sql`select 1 from plans where account_id = ${agency.id}`).toHaveLength(5);
    await agency.client.agents.update({ params, body: { actions: ['send_message'] } });
    const { id } = await agency.plan({ mode: 'none', steps: ['send_message', 'add_note'] });
    expect(statuses(await agency.until(id, 'failed'))).toEqual(['done', 'failed']);
  });

  it('fails for a deleted contact, and for a deal that does not exist', async () => {
    const bare = { deal_id: null, deal_number: null, deal_title: null, deal_stage: null };
    const { id: withoutDeal } = await agency.plan({ mode: 'none', steps: ['add_note'], more: bare });
    expect((await agency.until(withoutDeal, 'failed')).last_error).toBe('Step 1: The plan has no deal');
    const plans = await Promise.all(
      (['send_message', 'follow_up'] as const).map((step) => agency.plan({ steps: [step] })),
    );
    await agency.client.cdp.contacts.delete({ params: { contact_id: agency.contact.id } });
    await waitFor('the copy', async () => {
      const rows = await sql`select 1 from contacts where id = ${agency.contact.id} and deleted`;
      return rows.length === 1;
    });
    for (const { id } of plans) {
      await agency.decide(id, 'approve');
      expect((await agency.until(id, 'failed')).last_error).toBe('Step 1: The contact was deleted');
      expect(await messagesOf(id)).toEqual([]);
    }
  });
});

describe('a process that died', () => {
  it('after handing a message over causes only one message', async () => {
    const { id, steps } = await agency.plan({ mode: 'none', steps: [{ action: 'send_message', run_at: in1h() }] });
    const [row] = await sql<{ key: string }[]>`select key from plan_steps where id = ${steps[0]!.id}`;
    const handed = { contact: agency.contact.id, channel: 'sms' as const, body: 'Hello', reference: `plan-${id}` };
    const { message } = await bus.ask(takeMessage, agency.id, { key: row!.key, ...handed });
    await sql`update plan_steps set status = 'running', tries = 1, began_at = ${platform.clock.now()},
      due_at = ${new Date(platform.clock.now().getTime() - 1)} where id = ${steps[0]!.id}`;
    const done = await agency.until(id, 'completed');
    expect(done.steps[0]!.result).toEqual({ message });
    expect(await messagesOf(id)).toHaveLength(1);
  });

  it('is waited for until its lease expires', async () => {
    const { id, steps } = await agency.plan({ mode: 'none', steps: [{ action: 'send_message', run_at: in1h() }] });
    const leasedUntil = new Date(platform.clock.now().getTime() + 30_000);
    await sql`update plan_steps set status = 'running', tries = 1, due_at = ${leasedUntil} where id = ${steps[0]!.id}`;
    const other = await agency.plan({ mode: 'none' });
    await agency.until(other.id, 'completed');
    expect([statuses(await agency.get(id)), await messagesOf(id)]).toEqual([['running'], []]);
    platform.clock.advance(30_000);
    await agency.until(id, 'completed');
    expect(await messagesOf(id)).toHaveLength(1);
  });

  it('leaves the step failed with an unknown outcome if the plan has ended meanwhile', async () => {
    const { id, steps } = await agency.plan({ mode: 'none', steps: [{ action: 'send_message', run_at: in1h() }] });
    const leasedUntil = new Date(platform.clock.now().getTime() + 30_000);
    await sql`update plan_steps set status = 'running', tries = 1, due_at = ${leasedUntil} where id = ${steps[0]!.id}`;
    const { body } = await agency.decide(id, 'cancel');
    expect(statuses(body)).toEqual(['running']);
    platform.clock.advance(30_000);
    const step = await waitFor('its end', async () => {
      const [only] = (await agency.get(id)).steps;
      return only!.status === 'failed' && only;
    });
    expect(step.result!.error).toMatch(/unknown/);
    expect([await messagesOf(id), (await agency.get(id)).status]).toEqual([[], 'cancelled']);
  });
});

describe('steps of many plans', () => {
  let second: Running;
  beforeAll(async () => {
    second = await startService(agents, platform.env('agents'), { clock: platform.clock.now });
  });
  afterAll(() => second.stop());

  it('run once each, with any number of processes', async () => {
    const plans = await Promise.all(
      Array.from({ length: 30 }, () => agency.plan({ steps: ['send_message', 'add_note', 'send_message'] })),
    );
    await Promise.all(plans.map(({ id }) => agency.decide(id, 'approve')));
    for (const { id } of plans) await agency.until(id, 'completed');
    expect((await agency.client.messages.list({ query: { limit: 100 } })).data).toHaveLength(60);
    expect((await dealNow()).notes.split('\n\n')).toHaveLength(30);
    const kinds = await waitFor('the events', () => {
      const sent = platform.events(agency.id).filter(({ type }) => type === 'plan.completed');
      return sent.length >= 30 && sent;
    });
    expect(new Set(kinds.map(({ data }) => data.plan.id)).size).toBe(kinds.length);
  });
});

it('a due step waits while its plan is being changed, and does not block others', async () => {
  const due = in1h();
  const plans = await Promise.all(
    Array.from({ length: 5 }, () => agency.plan({ mode: 'none', steps: [{ action: 'add_note', run_at: due }] })),
  );
  const [changed, ...others] = plans.map(({ id }) => id);
  await inTransaction(sql, async (tx) => {
    await lockPlan(tx, agency.id, changed!);
    platform.clock.advance(3_600_000);
    for (const id of others) await agency.until(id, 'completed');
    expect(await sql`select tries from plan_steps where plan_id = ${changed!}`).toEqual([{ tries: 0 }]);
  });
  await agency.until(changed!, 'completed');
});

it('plans continue while their agent is paused, and stop when it is deleted', async () => {
  const steps = ['send_message' as const, { action: 'add_note' as const, run_at: in1h() }];
  const running = await agency.plan({ mode: 'none', steps });
  const [waiting, made] = [
    await agency.plan(),
    await agency.plan({
      status: 'running',
      steps: [],
      more: {
        planning_due_at: new Date(platform.clock.now().getTime() + 7_200_000),
      },
    }),
  ];
  await agency.client.agents.pause({ params: { agent_id: agency.agent }, body: {} });
  const sent = await waitFor('the message', async () => {
    const plan = await agency.get(running.id);
    return plan.steps[0]!.status === 'done' && plan;
  });
  expect(sent.status).toBe('running');
  await agency.client.agents.delete({ params: { agent_id: agency.agent } });
  for (const { id } of [running, waiting, made])
    expect(await agency.get(id)).toMatchObject({ status: 'cancelled', decision_note: 'The agent was deleted' });
  expect(statuses(await agency.get(running.id))).toEqual(['done', 'cancelled']);
  const left = await sql`select 1 from plan_steps where account_id = ${agency.id} and due_at is not null`;
  const plans = await sql`
    select 1 from plans where account_id = ${agency.id} and (planning_due_at is not null or lapses_at is not null)`;
  expect([left.length, plans.length]).toEqual([0, 0]);
});
