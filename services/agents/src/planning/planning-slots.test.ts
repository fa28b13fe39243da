import { describe, expect, it } from '@jest/globals';
import type { AiResult } from './ask-ai.ts';
import { PlanningSlots } from './planning-slots.ts';

const tokens = { promptTokens: 0, completionTokens: 0 };
const answered: AiResult = { outcome: 'answered', ...tokens, text: '{}', isCutOff: false };
const timedOut: AiResult = {
  outcome: 'unknown',
  ...tokens,
  error: 'no answer',
  isTemporary: false,
  retryAfterMs: 0,
  hasTimedOut: true,
};
const refused: AiResult = { outcome: 'refused', ...tokens, error: 'no', isTemporary: false, retryAfterMs: 0 };

const mostOf = (slots: PlanningSlots, accountId: string) => {
  const { accounts, perAccount } = slots.free();
  return accounts.find(({ account_id }) => account_id === accountId)?.most ?? perAccount;
};

describe('the slots of an account', () => {
  it('are four, one after a call reached its timeout, and four again once a call is answered', () => {
    const slots = new PlanningSlots(12);
    expect(mostOf(slots, 'a')).toBe(4);
    slots.learn('a', timedOut);
    expect([mostOf(slots, 'a'), mostOf(slots, 'b')]).toEqual([1, 4]);
    slots.learn('a', refused);
    expect(mostOf(slots, 'a')).toBe(1);
    slots.learn('a', answered);
    expect(mostOf(slots, 'a')).toBe(4);
  });

  it('are taken until their plan has ended, whatever was learned meanwhile', () => {
    const slots = new PlanningSlots(12);
    for (let begun = 0; begun < 3; begun++) slots.begin('a');
    slots.learn('a', timedOut);
    expect(slots.free()).toMatchObject({ free: 9, accounts: [{ account_id: 'a', running: 3, most: 1 }] });
    for (let ended = 0; ended < 3; ended++) slots.end('a');
    expect(slots.free()).toMatchObject({ free: 12, kept: 3, accounts: [{ account_id: 'a', running: 0, most: 1 }] });
  });
});
