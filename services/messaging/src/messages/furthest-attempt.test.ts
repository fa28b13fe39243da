import { expect, it } from '@jest/globals';
import { type AttemptProgress, furthestAttempt } from './furthest-attempt.ts';

it.each([
  ['the accepted one, although a later one failed', ['sent', 'rejected'], 1],
  ['the accepted one, although a later one is in progress', ['sent', 'skipped', 'sending'], 1],
  ['the one that was delivered', ['delivered', 'sent'], 1],
  ['the one that was read', ['sent', 'read', 'delivered'], 2],
  ['the one that may have been sent', ['unknown', 'rejected'], 1],
  ['the one that a provider accepted', ['undelivered', 'rejected', 'skipped'], 1],
  ['the one that was called', ['rejected', 'skipped'], 1],
  ['the later one of equals', ['rejected', 'rejected'], 2],
  ['the later one if none arrived', ['rejected', 'queued'], 2],
])('of the attempts of a message the one shown is %s: %j', (_what, statuses, shown) => {
  const attempts = statuses.map((status, index) => {
    const isFailed = status === 'rejected' || status === 'undelivered';
    const result = isFailed ? { status: 'failed', reason: status } : { status, reason: null };
    return { number: index + 1, address: '', ...result } as AttemptProgress;
  });
  expect(furthestAttempt(attempts).number).toBe(shown);
});
