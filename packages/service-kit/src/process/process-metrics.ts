import type { Database } from '../database/database.ts';
import { collectLoopDelays } from '../telemetry/event-loop.ts';
import { meter } from '../telemetry/meter.ts';

const gauges = {
  'nodejs.eventloop.delay.max': {
    unit: 's',
    description: 'Longest delay of the event loop since the last collection.',
  },
  'nodejs.eventloop.delay.p99': {
    unit: 's',
    description: '99th percentile of the delays since the last collection.',
  },
  'process.memory.usage': { unit: 'By', description: 'Resident memory.' },
  'v8js.memory.heap.used': { unit: 'By', description: 'Memory of JavaScript objects.' },
  'db.client.connection.count': { unit: '{connection}', description: 'Open connections to PostgreSQL, by state.' },
  'db.client.connection.max': { unit: '{connection}', description: 'Maximum number of connections in the pool.' },
  'db.client.connection.pending_requests': {
    unit: '{request}',
    description: 'Queries and transactions that wait for a connection.',
  },
};

/** Observes a process and its pool at each collection of metrics, until the process ends. */
export function observeProcess(sql: Database): void {
  meter.observe(gauges, (observe) => {
    const { longestMs, p99Ms } = collectLoopDelays();
    observe('nodejs.eventloop.delay.max', longestMs / 1_000);
    observe('nodejs.eventloop.delay.p99', p99Ms / 1_000);
    const { rss, heapUsed } = process.memoryUsage();
    observe('process.memory.usage', rss);
    observe('v8js.memory.heap.used', heapUsed);
    const { size, used, waiting } = sql.pool.use;
    observe('db.client.connection.count', used, { 'db.client.connection.state': 'used' });
    const idle = Math.max(0, sql.pool.open - used);
    observe('db.client.connection.count', idle, { 'db.client.connection.state': 'idle' });
    observe('db.client.connection.max', size);
    observe('db.client.connection.pending_requests', waiting);
  });
}
