import { describe, expect, it } from '@jest/globals';
import { attentionOf, needsAttention } from './queue-attention.ts';

const quiet = { lag_seconds: 0, dead: 0, failed_waiting: null, pauses: [] };
const pauses = [{ reason: 'their server is down' }];

describe('a queue', () => {
  it.each([
    [[], quiet],
    [[], { ...quiet, failed_waiting: 0, lag_seconds: 60 }],
    [['lag'], { ...quiet, lag_seconds: 60.1 }],
    [['dead'], { ...quiet, dead: 1 }],
    [['failed'], { ...quiet, failed_waiting: 1 }],
    [['paused'], { ...quiet, pauses }],
    [['lag', 'dead', 'failed', 'paused'], { lag_seconds: 61, dead: 2, failed_waiting: 3, pauses }],
  ])('needs attention for %j', (reasons, queue) => {
    expect(attentionOf(queue)).toEqual(reasons);
    expect(needsAttention(queue)).toBe(reasons.length > 0);
  });
});
