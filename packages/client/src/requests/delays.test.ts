import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoffMs, retryAfterOf } from './delays.ts';

describe('Retry-After', () => {
  const read = (value: string, date?: string) =>
    retryAfterOf(new Headers({ 'retry-after': value, ...(date ? { date } : {}) }));

  it('is a number of seconds, or a date by the server clock', () => {
    expect(read('0')).toBe(0);
    expect(read('120')).toBe(120);
    expect(read('Fri, 20 Nov 2026 09:00:30 GMT', 'Fri, 20 Nov 2026 09:00:00 GMT')).toBe(30);
    expect(read('Fri, 20 Nov 2026 08:00:00 GMT', 'Fri, 20 Nov 2026 09:00:00 GMT')).toBe(0);
    expect(read(new Date(Date.now() + 100_000).toUTCString())).toBeGreaterThan(90);
  });

  it('is undefined if it is malformed', () => {
    expect([read('soon'), read('-1'), read(''), retryAfterOf(new Headers())]).toEqual(Array(4).fill(undefined));
  });
});

describe('backoff', () => {
  it('is random below a limit that doubles, up to the longest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 60_000 }), (attempt, longest) => {
        const ms = backoffMs(attempt, longest);
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(Math.min(longest, 250 * 2 ** (attempt - 1)));
      }),
    );
  });
});
