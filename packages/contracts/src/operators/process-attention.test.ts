import { expect, it } from '@jest/globals';
import { processAttentionOf } from './process-attention.ts';

const pool = { size: 10, used: 10, waiting: 0 };
const exhausted = { ...pool, waiting: 4 };
const wait = '4 wait for one of its 10 connections to PostgreSQL';

it.each([
  [{ pool, waiting_for: null }, []],
  [{ pool, waiting_for: 'Redis' }, [['waits for Redis', 'redis-fallback']]],
  [{ pool, waiting_for: 'NATS' }, [['waits for NATS', 'outbox-stuck']]],
  [{ pool, waiting_for: 'a printer' }, [['waits for a printer', 'service-gone']]],
  [{ pool: exhausted, waiting_for: null }, [[wait, 'pool-exhausted']]],
  [
    { pool: exhausted, waiting_for: 'PostgreSQL, Redis' },
    [
      ['waits for PostgreSQL', 'pool-exhausted'],
      ['waits for Redis', 'redis-fallback'],
      [wait, 'pool-exhausted'],
    ],
  ],
])('a process with %j needs attention for its dependencies and its pool', (condition, reasons) => {
  expect(processAttentionOf(condition).map(({ text, runbook }) => [text, runbook])).toEqual(reasons);
});
