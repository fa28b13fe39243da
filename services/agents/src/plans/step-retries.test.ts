import { randomUUID } from 'node:crypto';
import { takeMessage } from '@customer-platform/contracts/messaging';
import { Bus, createLogger, type Database } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Agency, openAgency, statuses } from '../../test/plans.ts';

/** A platform in which `reply` replaces messaging. */
let platform: Platform;
let sql: Database;
let bus: Bus;
let agency: Agency;
/** Keys of the messages handed over, oldest first. `handedAt` has their times. */
let keys: string[];
let handedAt: number[];
let reply: () => Promise<{ message: string | null; refusal: string | null }>;
const silence = () => new Promise<never>(() => undefined);

/** Starts the platform for the following tests. Its requests time out after `timeoutMs` without a reply. */
async function open(timeoutMs: number): Promise<void> {
  const env = { BUS_REQUEST_TIMEOUT_MS: String(timeoutMs) };
  platform = await startPlatform({ services: ['cdp', 'crm', 'agents'], env });
  sql = platform.database('agents');
  const { NATS_URL, BUS_PREFIX } = platform.env('agents');
  bus = await Bus.connect(NATS_URL!, {
    prefix: BUS_PREFIX!,
    service: 'messaging',
    log: createLogger('agents', 'fatal'),
  });
  bus.handle(takeMessage, async (account, { key }) => {
    if (account !== agency.id) return silence();
    keys.push(key);
    handedAt.push(platform.clock.now().getTime());
    return await reply();
  });
}
async function close(): Promise<void> {
  await bus.close();
  await platform.stop();
}
beforeAll(() => open(1_000), 60_000);
afterAll(close);
/** Gives the tests of a group a platform with a long request timeout. So a late reply causes no second request. */
function waitForReplies(): void {
  let before: [Platform, Database, Bus];
  beforeAll(async () => {
    before = [platform, sql, bus];
    await open(leaseMs - 10_000);
  }, 60_000);
  afterAll(async () => {
    await close();
    [platform, sql, bus] = before;
  });
}
beforeEach(async () => {
  agency = await openAgency(platform, sql);
  keys = [];
  handedAt = [];
  reply = silence;
});
/** Otherwise, leftover steps would be retried when another test advances the clock. */
afterEach(() =>
  sql`update plan_steps set status = 'cancelled', due_at = null where due_at is not null`.then(() => undefined),
);

const handed = (count: number) => waitFor(`${count} attempts`, () => keys.length >= count);
const leaseMs = 30_000;
/**
 * Waits until a failed attempt after `sinceMs` is written. Returns when the next attempt is due, in ms. In these tests, a lease expires
 * later than any backoff.
 */
const noted = (step: number, sinceMs: number) =>
  waitFor('the wait', async () => {
    const [row] = await sql<{ due_at: Date }[]>`select due_at from plan_steps where id = ${step}`;
    const dueMs = row!.due_at.getTime();
    return dueMs < sinceMs + leaseMs && dueMs;
  });
/** Advances the clock to an instant if that is in the future. Returns the time, in ms. */
function advanceTo(instantMs: number): number {
  platform.clock.advance(Math.max(0, instantMs - platform.clock.now().getTime()));
  return platform.clock.now().getTime();
}

describe('a step without a reply', () => {
  it('is retried under its key with increasing delays until there is a reply', async () => {
    let sinceMs = platform.clock.now().getTime();
    const { id, steps } = await agency.plan({ mode: 'none' });
    for (const [index, waitMs] of [1_000, 2_000, 4_000, 8_000].entries()) {
      await handed(index + 1);
      const dueMs = await noted(steps[0]!.id, sinceMs);
      expect(dueMs - handedAt[index]!).toBeGreaterThanOrEqual(waitMs);
      expect(statuses(await agency.get(id))).toEqual(['running']);
      if (index === 3) reply = async () => ({ message: randomUUID(), refusal: null });
      sinceMs = advanceTo(dueMs);
    }
    await agency.until(id, 'completed');
    expect(keys.length).toBeGreaterThanOrEqual(5);
    expect(new Set(keys).size).toBe(1);
  });

  it('is retried if the other service fails', async () => {
    reply = () => Promise.reject(new Error('out of order'));
    const { id } = await agency.plan({ mode: 'none' });
    await handed(1);
    reply = async () => ({ message: randomUUID(), refusal: null });
    platform.clock.advance(1_000);
    await agency.until(id, 'completed');
    expect(new Set(keys).size).toBe(1);
  });

  it('fails after a day, and its plan with it', async () => {
    const sinceMs = platform.clock.now().getTime();
    const { id, steps } = await agency.plan({ mode: 'none', steps: ['send_message', 'add_note'] });
    await handed(1);
    await noted(steps[0]!.id, sinceMs);
    platform.clock.advance(24 * 3_600_000);
    const failed = await agency.until(id, 'failed');
    expect(failed.last_error).toMatch(/^Step 1: It failed for a day: messaging does not respond/);
    expect(statuses(failed)).toEqual(['failed', 'cancelled']);
  });

  it('is retried for a day from its start, however long its plan waited for approval', async () => {
    const run_at = new Date(platform.clock.now().getTime() - 48 * 3_600_000);
    const { id, steps } = await agency.plan({ steps: [{ action: 'send_message', run_at }] });
    const sinceMs = platform.clock.now().getTime();
    await agency.decide(id, 'approve');
    await handed(1);
    const dueMs = await noted(steps[0]!.id, sinceMs);
    reply = async () => ({ message: randomUUID(), refusal: null });
    advanceTo(dueMs);
    await agency.until(id, 'completed');
  });

  describe('with a reply in time', () => {
    waitForReplies();

    it('is not retried if the reply is a refusal, and its plan fails with the reason', async () => {
      reply = async () => ({ message: null, refusal: 'The channel sms is not set up' });
      const { id } = await agency.plan({ mode: 'none', steps: ['send_message', 'add_note'] });
      const failed = await agency.until(id, 'failed');
      expect([failed.last_error, statuses(failed)]).toEqual([
        'Step 1: The channel sms is not set up',
        ['failed', 'cancelled'],
      ]);
      expect(keys).toHaveLength(1);
    });
  });

  it('does not delay other plans', async () => {
    const { id } = await agency.plan({ mode: 'none' });
    const other = await agency.plan({ mode: 'none', steps: ['add_note'] });
    await agency.until(other.id, 'completed');
    expect((await agency.get(id)).status).toBe('running');
  });
});

describe('a plan that is canceled while a step runs', () => {
  describe('and has a reply in time', () => {
    waitForReplies();

    it('shows the outcome of the step, and does nothing more', async () => {
      let give: (given: { message: string; refusal: null }) => void = () => undefined;
      reply = () => new Promise((resolve) => (give = resolve));
      const { id } = await agency.plan({ mode: 'none', steps: ['send_message', 'add_note'] });
      await handed(1);
      const { body } = await agency.decide(id, 'cancel');
      expect([body.status, statuses(body)]).toEqual(['cancelled', ['running', 'cancelled']]);
      const message = randomUUID();
      give({ message, refusal: null });
      const ended = await waitFor('its end', async () => {
        const plan = await agency.get(id);
        return plan.steps[0]!.status === 'done' && plan;
      });
      expect([ended.status, ended.steps[0]!.result]).toEqual(['cancelled', { message }]);
      const { notes } = await agency.client.crm.deals.get({ params: { deal_id: agency.deal.id } });
      expect([notes, keys.length]).toEqual(['', 1]);
      // Decided last, so any event of the canceled plan would have arrived before its event.
      const marker = await agency.plan();
      await agency.decide(marker.id, 'reject');
      await platform.event(agency.id, 'plan.rejected', ({ plan }) => plan.id === marker.id);
      const told = platform.events(agency.id).filter(({ type }) => type.startsWith('plan.'));
      expect(told.map(({ type, data }) => [type, data.plan.id])).toEqual([['plan.rejected', marker.id]]);
    });
  });

  it('does not retry the step', async () => {
    const { id, steps } = await agency.plan({ mode: 'none' });
    await handed(1);
    // Postpones the next attempt by an hour, so that the plan is canceled before it even on a slow machine.
    const dueAt = new Date(platform.clock.now().getTime() + 3_600_000);
    await waitFor('a failed attempt', async () => {
      const put = await sql`
        update plan_steps set due_at = ${dueAt} where id = ${steps[0]!.id} and last_error is not null returning id`;
      return put.length === 1;
    });
    const { body } = await agency.decide(id, 'cancel');
    expect(body.status).toBe('cancelled');
    const tries = keys.length;
    advanceTo(dueAt.getTime());
    await waitFor('its end', async () => statuses(await agency.get(id))[0] === 'failed');
    expect([keys.length, (await agency.get(id)).status]).toEqual([tries, 'cancelled']);
  });
});
