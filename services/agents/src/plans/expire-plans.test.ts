import { allAccounts, batchOf, type Database, inTransaction, RowFinder } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Agency, crossing, openAgency, statuses } from '../../test/plans.ts';
import { lapsingPlans, takeLapsedPlans } from './plans.sql.ts';

let platform: Platform;
let sql: Database;
let agency: Agency;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
  sql = platform.database('agents');
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  agency = await openAgency(platform, sql);
});

/** Takes a batch of the plans that have lapsed at `at`, without changing them. */
const lapsed = (at: Date, limit = 100) =>
  inTransaction(sql, (tx) =>
    new RowFinder(lapsingPlans).take({ sql: tx, now: at, scope: allAccounts, room: batchOf(limit) }, (due) =>
      takeLapsedPlans(tx, due),
    ),
  );

const notes = async () => (await agency.client.crm.deals.get({ params: { deal_id: agency.deal.id } })).notes;

describe('an undecided plan', () => {
  it('expires at its deadline with one event, and none of its steps runs', async () => {
    const { id, expires_at } = await agency.plan({ steps: ['add_note', 'send_message'], lapsesIn: 600 });
    const later = await agency.plan({ lapsesIn: 1_200 });
    platform.clock.advance(600_000);
    const expired = await agency.until(id, 'expired');
    expect([statuses(expired), expired.expires_at]).toEqual([['cancelled', 'cancelled'], expires_at]);
    expect(expired).toMatchObject({ decided_by: null, next_run_at: null });
    const { data, timestamp } = await platform.event(agency.id, 'plan.expired');
    expect(data).toMatchObject({ plan: { id }, previous: { status: 'awaiting_approval' } });
    expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(Date.parse(expires_at!));
    expect((await agency.get(later.id)).status).toBe('awaiting_approval');
    platform.clock.advance(600_000);
    await agency.until(later.id, 'expired');
    await platform.event(agency.id, 'plan.expired', ({ plan }) => plan.id === later.id);
    const sent = platform.events(agency.id).filter(({ type }) => type === 'plan.expired');
    expect([sent.length, await notes()]).toEqual([2, '']);
  });

  it("expires even if its texts exceed an event, like older plans, and so do other accounts' plans", async () => {
    const params = { channel: 'sms' as const, body: '\u0001'.repeat(4_096), channel_locked: false };
    const large = await agency.plan({ steps: Array(10).fill({ action: 'send_message', params }), lapsesIn: 600 });
    const other = await openAgency(platform, sql);
    const { id } = await other.plan({ lapsesIn: 601 });
    platform.clock.advance(700_000);
    await other.until(id, 'expired');
    await agency.until(large.id, 'expired');
    const { data } = await platform.event(agency.id, 'plan.expired');
    expect([data.plan.steps.length, data.previous]).toEqual([
      10,
      expect.objectContaining({ status: 'awaiting_approval' }),
    ]);
    expect(data.previous).not.toHaveProperty('steps');
  });

  it('expires in a batch of at most about 1 MiB', async () => {
    const params = { channel: 'sms' as const, body: '\u0001'.repeat(4_096), channel_locked: false };
    const steps = Array(10).fill({ action: 'send_message', params });
    for (let count = 0; count < 6; count++) await agency.plan({ steps, lapsesIn: 600 });
    const later = new Date(platform.clock.now().getTime() + 601_000);
    const first = await lapsed(later);
    const own = first.rows.filter(({ account_id }) => account_id === agency.id);
    expect([own.length, first.hasMore]).toEqual([4, true]);
  });

  it('expires in round-robin order by account, so many older plans of one account delay no other account', async () => {
    const other = await openAgency(platform, sql);
    for (let count = 0; count < 6; count++) await agency.plan({ lapsesIn: 600 });
    const { id } = await other.plan({ lapsesIn: 601 });
    const later = new Date(platform.clock.now().getTime() + 602_000);
    const { rows } = await lapsed(later, 5);
    expect(rows.filter(({ account_id }) => account_id === other.id)).toMatchObject([{ id }]);
  });

  it('can be decided until its deadline, and not after it', async () => {
    const [approved, late] = [await agency.plan({ steps: ['add_note'] }), await agency.plan()];
    // Leaves a minute for a slow machine.
    platform.clock.advance(540_000);
    expect((await agency.decide(approved.id, 'approve')).status).toBe(200);
    platform.clock.advance(60_000);
    await agency.until(late.id, 'expired');
    for (const decision of ['approve', 'reject', 'cancel'])
      expect(await agency.decide(late.id, decision)).toMatchObject(crossing);
    expect((await agency.until(approved.id, 'completed')).expires_at).not.toBeNull();
  });

  it('expires as a whole if its steps are decided one by one and none was approved', async () => {
    const { id, steps } = await agency.plan({ mode: 'step', steps: ['add_note', 'send_message'] });
    await agency.decideStep(id, steps[0]!.id, 'reject');
    platform.clock.advance(600_000);
    expect(statuses(await agency.until(id, 'expired'))).toEqual(['skipped', 'cancelled']);
    expect(await agency.eventsUntil('plan.expired')).toEqual(['plan.expired']);
  });
});

describe('undecided steps', () => {
  it('are skipped at the deadline; approved steps run', async () => {
    const { id, steps } = await agency.plan({ mode: 'step', steps: ['send_message', 'add_note', 'send_message'] });
    await agency.decideStep(id, steps[1]!.id, 'approve');
    platform.clock.advance(600_000);
    const done = await agency.until(id, 'completed');
    expect([statuses(done), await notes()]).toEqual([['skipped', 'done', 'skipped'], 'Asked for tea']);
    expect(done.steps[0]!.result).toEqual({ error: 'Nobody decided in time' });
    expect(await agency.eventsUntil('plan.completed')).toEqual(['plan.approved', 'plan.completed']);
    for (const decision of ['approve', 'reject']) {
      expect(await agency.decideStep(id, steps[0]!.id, decision)).toMatchObject(crossing);
      expect(await agency.decide(id, decision)).toMatchObject(crossing);
    }
  });

  it('complete the plan if no other step is left', async () => {
    const { id, steps } = await agency.plan({ mode: 'step', steps: ['add_note', 'send_message'] });
    await agency.decideStep(id, steps[0]!.id, 'approve');
    await waitFor('the note', async () => statuses(await agency.get(id))[0] === 'done');
    platform.clock.advance(600_000);
    expect(statuses(await agency.until(id, 'completed'))).toEqual(['done', 'skipped']);
    const { data } = await platform.event(agency.id, 'plan.completed');
    expect(data.previous).toMatchObject({ status: 'running' });
    expect(await agency.client.agents.plans.list({ query: { status: 'awaiting' } })).toMatchObject({ data: [] });
  });
});

describe('many plans that expire at once', () => {
  it('all expire, each with one event', async () => {
    const plans = await Promise.all(Array.from({ length: 120 }, () => agency.plan()));
    platform.clock.advance(600_000);
    for (const { id } of plans) await agency.until(id, 'expired');
    const sent = await waitFor('the events', () => {
      const events = platform.events(agency.id).filter(({ type }) => type === 'plan.expired');
      return events.length >= plans.length && events;
    });
    expect(new Set(sent.map(({ data }) => data.plan.id)).size).toBe(sent.length);
  });
});
