import { describe, expect, it } from '@jest/globals';
import { type AttemptProgress, furthestAttempt } from './furthest-attempt.ts';

/** Returns the number of the attempt shown of attempts with these statuses, first to last; a failed one with its reason. */
function shown(...statuses: (AttemptProgress['status'] | 'undelivered' | 'rejected')[]): number {
  const attempts = statuses.map((status, index): AttemptProgress => {
    const place = { number: index + 1, address: '' };
    if (status === 'undelivered' || status === 'rejected') return { ...place, status: 'failed', reason: status };
    return { ...place, status, reason: null };
  });
  return furthestAttempt(attempts).number;
}

describe('the attempt that got furthest', () => {
  it('is the one that was taken, though a later channel failed, was skipped or is being tried', () => {
    expect(shown('sent', 'rejected')).toBe(1);
    expect(shown('sent', 'skipped', 'sending')).toBe(1);
    expect(shown('delivered', 'sent')).toBe(1);
    expect(shown('sent', 'read', 'delivered')).toBe(2);
  });

  it('is the one that may have gone out, or that a provider took, where none arrived', () => {
    expect(shown('unknown', 'rejected')).toBe(1);
    expect(shown('undelivered', 'rejected', 'skipped')).toBe(1);
    expect(shown('rejected', 'skipped')).toBe(1);
  });

  it('is the later one of equals', () => {
    expect(shown('rejected', 'rejected')).toBe(2);
    expect(shown('rejected', 'queued')).toBe(2);
    expect(shown('sent', 'sent')).toBe(2);
    expect(shown('skipped', 'skipped', 'skipped')).toBe(3);
  });
});
