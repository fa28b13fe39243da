import { startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventsUntil, invalid, openSales } from '../../test/crm.ts';

const platform = await startPlatform({ services: ['cdp', 'crm'] });
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-06-01T08:00:00Z'));

/** Creates a deal of this status in the stage Qualified. */
async function dealIn(status: string) {
  const sales = await openSales(platform);
  const { id } = await sales.deal({ stage: sales.stages[1] });
  platform.clock.advance(60_000);
  if (status !== 'open') await sales.change(id, status === 'won' ? 'win' : 'lose');
  platform.clock.advance(60_000);
  return { ...sales, before: await sales.get(id) };
}

type Change = 'moved' | 'won' | 'lost' | 'open' | 'same' | '409';

/** Outcome of each change in each status: the new status, 'same' if nothing changes, or the error. */
const outcomes: Record<string, Record<string, Change>> = {
  open: { move: 'moved', stay: 'same', win: 'won', lose: 'lost', reopen: 'same' },
  won: { move: '409', stay: '409', win: 'same', lose: '409', reopen: 'open' },
  lost: { move: '409', stay: '409', win: '409', lose: 'same', reopen: 'open' },
};
const cases = Object.entries(outcomes).flatMap(([status, changes]) =>
  Object.entries(changes).map(([change, outcome]) => [status, change, outcome] as const),
);
const kinds = { moved: 'deal.stage_changed', won: 'deal.won', lost: 'deal.lost', open: 'deal.reopened' };

describe('a deal that is', () => {
  it.each(cases)('%s: %s leads to %s', async (status, change, outcome) => {
    const { account, stages, before, get, change: ask } = await dealIn(status);
    const isMove = change === 'move' || change === 'stay';
    const body = isMove ? { stage: change === 'move' ? stages[2] : before.stage.id } : {};
    const response = await ask(before.id, isMove ? 'move' : change, body);
    const after = await get(before.id);
    const now = after.updated_at;
    const replaced: Record<Change, Record<string, unknown>> = {
      moved: { stage: { id: stages[2], name: 'Proposal' }, stage_entered_at: now },
      won: { status: 'won', closed_at: now },
      lost: { status: 'lost', closed_at: now },
      open: { status: 'open', closed_at: null },
      same: {},
      '409': {},
    };
    if (outcome === '409') expect(response).toMatchObject({ status: 409, body: { error: { code: 'invalid_state' } } });
    else expect(response).toMatchObject({ status: 200, body: after });
    if (outcome === '409' || outcome === 'same') {
      expect(after).toEqual(before);
      await account.client.crm.deals.delete({ params: { deal_id: before.id } });
      await platform.event(account.id, 'deal.deleted');
      const told = platform.events(account.id).filter(({ type }) => /^deal\.(?!deleted)/.test(type));
      expect(told).toHaveLength(status === 'open' ? 1 : 2);
      return;
    }
    expect(now).toMatch(/^2026-06-01T10:02/);
    expect(after).toEqual({ ...before, ...replaced[outcome], updated_at: now });
    const event = await platform.event(account.id, kinds[outcome]);
    const names = Object.keys(replaced[outcome]) as (keyof typeof before)[];
    const previous = Object.fromEntries(names.map((name) => [name, before[name]]));
    expect(event.data).toEqual({ deal: after, previous, ...(outcome === 'lost' ? { reason: '' } : {}) });
  });

  it('lost with a reason has the reason only in the event', async () => {
    const { account, before, change } = await dealIn('open');
    const response = await change(before.id, 'lose', { reason: 'too dear' });
    const event = await platform.event(account.id, 'deal.lost');
    expect(event.data).toEqual({
      deal: response.body,
      previous: { status: 'open', closed_at: null },
      reason: 'too dear',
    });
    expect(response.text).not.toContain('too dear');
  });

  it('won, reopened and lost keeps its stage and the time it entered the stage', async () => {
    const { before, change, get } = await dealIn('won');
    await change(before.id, 'reopen');
    await change(before.id, 'lose');
    const { stage, stage_entered_at } = await get(before.id);
    expect({ stage, stage_entered_at }).toEqual({ stage: before.stage, stage_entered_at: before.stage_entered_at });
  });
});

describe('moving a deal', () => {
  it.each(['open', 'won'])('is refused for a stage of another pipeline if the deal is %s', async (status) => {
    const { account, before, change, get } = await dealIn(status);
    const other = await account.client.crm.pipelines.create({ body: { name: 'Other', stages: [{ name: 'Call' }] } });
    const stranger = await openSales(platform);
    for (const stage of [other.stages[0]!.id, stranger.stages[0], 999_999_999, 0, 'New', undefined]) {
      expect([stage, await change(before.id, 'move', { stage })]).toMatchObject([stage, invalid('stage')]);
    }
    expect(await get(before.id)).toEqual(before);
  });
});

describe('of concurrent requests', () => {
  it('wins and losses have one outcome, and the others are refused', async () => {
    const { account, before, change, get } = await dealIn('open');
    const actions = Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? 'win' : 'lose'));
    const responses = await Promise.all(actions.map((action) => change(before.id, action)));
    const { status } = await get(before.id);
    const winner = status === 'won' ? 'win' : 'lose';
    expect(responses.map((response) => response.status)).toEqual(
      actions.map((action) => (action === winner ? 200 : 409)),
    );
    await change(before.id, 'reopen');
    await platform.event(account.id, 'deal.reopened');
    const closed = platform.events(account.id).filter(({ type }) => ['deal.won', 'deal.lost'].includes(type));
    expect(closed.map(({ type }) => type)).toEqual([`deal.${status}`]);
  });

  it('moves to one stage emit one event', async () => {
    const { account, stages, before, change } = await dealIn('open');
    await Promise.all(Array.from({ length: 20 }, () => change(before.id, 'move', { stage: stages[2] })));
    await change(before.id, 'win');
    expect(await eventsUntil(platform, account.id, 'deal.stage_changed', 'deal.won')).toBe(1);
  });
});
