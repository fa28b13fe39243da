import { randomUUID } from 'node:crypto';
import { mergeContacts, pagesOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAgents, invalid } from '../../test/agents.ts';
import { type Agency, openAgency } from '../../test/plans.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
const sql = platform.database('agents');
afterAll(() => platform.stop());

let agency: Agency;
beforeEach(async () => {
  agency = await openAgency(platform, sql);
});

const list = async (query: Record<string, unknown> = {}) =>
  await agency.client.agents.plans.list({ query: query as never });
const ids = async (query: Record<string, unknown> = {}) => (await list(query)).data.map(({ id }) => id);
const tryList = (query: string) =>
  agency.account.request('GET', `/v1/agents/plans?${query}`, { key: agency.account.testKey });

describe('the list of plans', () => {
  it('is newest first, page by page, with each plan as GET returns it', async () => {
    const made = [];
    for (let index = 0; index < 5; index++) made.unshift(await agency.plan({ steps: ['send_message', 'add_note'] }));
    expect((await list()).data).toEqual(made);
    const first = await list({ limit: 2 });
    expect(first).toMatchObject({ has_more: true, next: String(made[1]!.id) });
    await agency.plan();
    const second = await list({ limit: 2, starting_after: first.next! });
    const third = await list({ limit: 2, starting_after: second.next! });
    expect([...first.data, ...second.data, ...third.data]).toEqual(made);
    expect([third.has_more, third.next]).toEqual([false, null]);
  });

  it('ends a page early if plans are large, and all pages together are complete', async () => {
    const params = { channel: 'sms', body: 'ä'.repeat(4_096), channel_locked: false } as const;
    const steps = Array.from({ length: 10 }, () => ({ action: 'send_message' as const, params }));
    const { id } = await agency.plan({ steps });
    await sql`
      with made as (
        insert into plans (account_id, agent_id, contact_id, contact_number, trigger, trigger_text, goal, status, created_at)
        select account_id, agent_id, contact_id, contact_number, trigger, trigger_text, goal, 'completed', created_at
        from plans cross join generate_series(1, 29) where account_id = ${agency.id} and id = ${id} returning account_id, id
      )
      insert into plan_steps (account_id, plan_id, position, action, title, reason, params, editable, requires_approval, status, run_at)
      select made.account_id, made.id, position, action, title, reason, params, editable, requires_approval, 'done', run_at
      from made join plan_steps s on s.account_id = made.account_id and s.plan_id = ${id}`;
    for (const filter of [{}, { contact: agency.contact.id }]) {
      const { data, sizes } = await pagesOf((query) => list({ ...query, ...filter }));
      expect([data.length, new Set(data.map((one) => one.id)).size, data.at(-1)!.id]).toEqual([30, 30, id]);
      expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
    }
  });

  it('filters plans that await approval, as a whole or by step, and plans with work left', async () => {
    const run_at = new Date(Date.now() + 3_600_000);
    const later = [{ action: 'add_note' as const, run_at }];
    const awaiting = await agency.plan();
    const steps = await agency.plan({ mode: 'step', steps: [later[0]!, ...later] });
    await agency.decideStep(steps.id, steps.steps[0]!.id, 'approve');
    const running = await agency.plan({ mode: 'none', steps: later });
    const rejected = await agency.plan();
    await agency.decide(rejected.id, 'reject');
    expect(await ids()).toEqual([rejected.id, running.id, steps.id, awaiting.id]);
    expect(await ids({ status: 'awaiting' })).toEqual([steps.id, awaiting.id]);
    expect(await ids({ status: 'open' })).toEqual([running.id, steps.id, awaiting.id]);
    await agency.decide(steps.id, 'approve');
    expect(await ids({ status: 'awaiting' })).toEqual([awaiting.id]);
  });

  it('filters by agent, including an archived one', async () => {
    const { id } = await agency.plan();
    const [other] = await addAgents(sql, agency.id, 1, { status: 'archived' });
    const { id: ofOther } = await agency.plan({ more: { agent_id: other } });
    expect(await ids({ agent: agency.agent })).toEqual([id]);
    expect(await ids({ agent: other })).toEqual([ofOther]);
    expect(await ids({ agent: other, status: 'open', contact: agency.contact.id })).toEqual([ofOther]);
  });

  it("filters by contact, and for a survivor includes merged contacts' plans, with its number", async () => {
    const survivor = await agency.client.cdp.contacts.create({ body: { name: 'Survivor' } });
    const other = await agency.client.cdp.contacts.create({ body: { name: 'Other' } });
    const plan = await agency.plan();
    expect(await ids({ contact: agency.contact.id })).toEqual([plan.id]);
    expect(await ids({ contact: other.id })).toEqual([]);
    await mergeContacts(agency.client, { keep: survivor.id, merged: agency.contact.id });
    const shown = await waitFor('the survivor', async () => {
      const { contact } = await agency.get(plan.id);
      return contact.id === survivor.number && contact.uuid === survivor.id && contact;
    });
    expect(shown).toMatchObject({ name: 'Survivor', msisdn: '+4930901801' });
    for (const contact of [survivor.id, agency.contact.id]) expect(await ids({ contact })).toEqual([plan.id]);
  });

  it('omits plans without an agent', async () => {
    const more = { agent_id: null, planning_due_at: new Date(Date.now() + 3_600_000) };
    await expect(agency.plan({ status: 'running', steps: [], more })).rejects.toMatchObject({ status: 404 });
    expect(await ids()).toEqual([]);
    const [hidden] = await sql<{ id: number }[]>`select id from plans where account_id = ${agency.id}`;
    expect(await tryList(`starting_after=${hidden!.id}`)).toMatchObject(invalid('starting_after'));
    expect((await agency.decide(hidden!.id, 'cancel')).status).toBe(404);
  });

  it('refuses invalid filters, and shows nothing of another account', async () => {
    const other = await openAgency(platform, sql);
    const theirs = await other.plan();
    const wrong: Record<string, string[]> = {
      status: ['status=done'],
      agent: [`agent=${other.agent}`, 'agent=ada', 'agent=1000000000'],
      contact: [`contact=${other.contact.id}`, `contact=${randomUUID()}`, 'contact=1'],
      starting_after: [`starting_after=${theirs.id}`],
    };
    for (const [field, queries] of Object.entries(wrong)) {
      for (const query of queries) expect([query, await tryList(query)]).toMatchObject([query, invalid(field)]);
    }
    expect(await list({ limit: 100 })).toEqual({ data: [], has_more: false, next: null });
  });

  it('shortens the trigger without splitting a character', async () => {
    const { trigger_excerpt } = await agency.plan({ more: { trigger_text: `a${'😀'.repeat(300)}` } });
    expect(trigger_excerpt).toBe(`a${'😀'.repeat(199)}`);
    const bare = { deal_id: null, deal_number: null, deal_title: null, deal_stage: null, pipeline_id: null };
    expect(await agency.plan({ more: { ...bare, pipeline_name: null, expires_at: null } })).toMatchObject({
      deal: null,
      pipeline: null,
      expires_at: null,
    });
  });
});
