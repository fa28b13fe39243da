import { randomUUID } from 'node:crypto';
import { takeMessage } from '@customer-platform/contracts/messaging';
import { Bus, createLogger, type Database } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Agency, openAgency, statuses } from '../../test/plans.ts';

/** A platform whose messaging is replaced by `reply`. */
let platform: Platform;
let sql: Database;
let bus: Bus;
let agency: Agency;
/** Keys of the messages handed over, oldest first, and when. */
let keys: string[];
let handedAt: number[];
let reply: () => Promise<{ message: string | null; refusal: string | null }>;
const silence = () => new Promise<never>(() => undefined);

/** Starts the platform of the tests that follow; its requests without a reply time out after so long. */
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
/** Gives the tests of a group a platform whose requests wait for their reply: one that comes too late is asked for again. */
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
/** Steps left over would be retried when another test moves the clock. */
afterEach(() =>
  sql`update plan_steps set status = 'cancelled', due_at = null where due_at is not null`.then(() => undefined),
);

const handed = (count: number) => waitFor(`${count} tries`, () => keys.length >= count);
const leaseMs = 30_000;
/**
 * Waits until a failed attempt after `sinceMs` was written. Returns when the next one is due, in ms. A lease ends later than any backoff
 * of these tests.
 */
const noted = (step: number, sinceMs: number) =>
  waitFor('the wait', async () => {
    const [row] = await sql<{ due_at: Date }[]>`select due_at from plan_steps where id = ${step}`;
    const dueMs = row!.due_at.getTime();
    return dueMs < sinceMs + leaseMs && dueMs;
  });
/** Advances the clock to an instant, if that is ahead. Returns the time, in ms. */
function advanceTo(instantMs: number): number {
  platform.clock.advance(Math.max(0, instantMs - platform.clock.now().getTime()));
  return platform.clock.now().getTime();
}

describe('a step without a reply', () => {
  it('is asked for again under its key, later each time, until there is one', async () => {
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

  it('is asked for again where its owner fails', async () => {
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

  it('is tried for a day from when it begins, however long its plan waited for approval', async () => {
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

  describe('where there is one in time', () => {
    waitForReplies();

    it('is not asked for again where the reply is a refusal: its plan fails with the reason', async () => {
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

  it('holds up no other plan', async () => {
    const { id } = await agency.plan({ mode: 'none' });
    const other = await agency.plan({ mode: 'none', steps: ['add_note'] });
    await agency.until(other.id, 'completed');
    expect((await agency.get(id)).status).toBe('running');
  });
});

describe('a plan that is cancelled while a step runs', () => {
  describe('and has a reply in time', () => {
    waitForReplies();

    it('shows what became of the step, and does nothing more', async () => {
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
      // Decided after all of that: an event of the cancelled plan would have come before it.
      const marker = await agency.plan();
      await agency.decide(marker.id, 'reject');
      await platform.event(agency.id, 'plan.rejected', ({ plan }) => plan.id === marker.id);
      const told = platform.events(agency.id).filter(({ type }) => type.startsWith('plan.'));
      expect(told.map(({ type, data }) => [type, data.plan.id])).toEqual([['plan.rejected', marker.id]]);
    });
  });

  it('is not asked for again', async () => {
    const { id, steps } = await agency.plan({ mode: 'none' });
    await handed(1);
    // An hour later than it would be: the plan is cancelled before the next try, however long the machine stalls.
    const dueAt = new Date(platform.clock.now().getTime() + 3_600_000);
    await waitFor('a failed try', async () => {
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
