import { describe, expect, it } from '@jest/globals';
import { AccountSlots } from './account-slots.ts';

const most = 1024;

/** Begins as many runs of an account as it may, at most `atMost`; returns how many. */
function fill(slots: AccountSlots, accountId: string, atMost = most): number {
  let begun = 0;
  while (begun < atMost && slots.freeOfFresh > 0 && slots.freeOf(accountId) > 0) {
    slots.begin(accountId);
    begun++;
  }
  return begun;
}

/** Rounds of one second each: as many as a run has until its timeout. */
const rounds = 15;

/** Begins runs of the accounts in turn until none may begin, and marks them slow. Repeats that until the first run would time out. */
function hang(slots: AccountSlots, accountIds: string[]): Map<string, number> {
  const held = new Map(accountIds.map((accountId) => [accountId, 0]));
  for (let round = 0; round < rounds; round++) {
    const begun: string[] = [];
    for (let isOn = true; isOn; ) {
      isOn = false;
      for (const accountId of accountIds) {
        if (fill(slots, accountId, 1) === 0) continue;
        begun.push(accountId);
        isOn = true;
      }
    }
    for (const accountId of begun) {
      slots.slowDown(accountId);
      held.set(accountId, held.get(accountId)! + 1);
    }
  }
  return held;
}

const named = (count: number) => Array.from({ length: count }, (_, i) => `account ${i}`);

describe('AccountSlots', () => {
  it('one account holds at most a quarter of the slots, however fast or slow its runs are', () => {
    const slots = new AccountSlots(most);
    expect(fill(slots, 'a')).toBe(most / 4);
    expect(slots.freeOf('b')).toBeGreaterThan(0);
    for (let i = 0; i < most / 4; i++) slots.slowDown('a');
    expect([fill(slots, 'a'), slots.atBound()]).toEqual([0, ['a']]);
  });

  it('an account with slow runs holds fewer slots, and gets them back when its runs end well', () => {
    const slots = new AccountSlots(most);
    expect([...hang(slots, ['a']).values()]).toEqual([most / 4]);
    for (let i = 0; i < most / 4; i++) slots.end('a', true, 'timeout');
    const held = fill(slots, 'a');
    expect(held).toBeLessThan(most / 8);
    expect(held).toBeGreaterThan(most / 16);
    for (let i = 0; i < held; i++) slots.end('a', false, 'responded');
    expect([fill(slots, 'a'), slots.running]).toEqual([most / 4, most / 4]);
  });

  it('a response during a slow run does not make an account fast again', () => {
    const slots = new AccountSlots(most);
    slots.begin('a');
    slots.end('a', true, 'timeout');
    slots.begin('a');
    slots.slowDown('a');
    slots.begin('a');
    slots.end('a', false, 'responded');
    slots.end('a', true, 'timeout');
    expect(fill(slots, 'a')).toBeLessThan(most / 8);
  });

  it.each([1, 3, 30, 100, 300, 1000])('if %d accounts hang, another one can still begin runs', (count) => {
    const slots = new AccountSlots(most);
    hang(slots, named(count));
    expect(slots.freeOfFresh > 0).toBe(true);
    expect(fill(slots, 'healthy')).toBeGreaterThanOrEqual(1);
  });

  it('if 30 accounts hang, none gets much more than another and a quarter of the slots is free', () => {
    const slots = new AccountSlots(most);
    const held = [...hang(slots, named(30)).values()];
    expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(3);
    expect(slots.running).toBeLessThanOrEqual((most * 3) / 4);
  });

  it('of few slots every account gets one', () => {
    const slots = new AccountSlots(4);
    expect([fill(slots, 'a'), fill(slots, 'b')]).toEqual([1, 0]);
    slots.slowDown('a');
    expect(fill(slots, 'b')).toBe(1);
  });
});
