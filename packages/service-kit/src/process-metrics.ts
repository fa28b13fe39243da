import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Database, openConnections, poolUse } from './database.ts';
import { meter } from './meter.ts';
import { metricsEnabled } from './telemetry.ts';

const gauges = {
  'nodejs.eventloop.delay.max': {
    unit: 's',
    description: 'Longest delay of the event loop since the last collection.',
  },
  'nodejs.eventloop.delay.p99': { unit: 's', description: '99th percentile of its delays since then.' },
  'process.memory.usage': { unit: 'By', description: 'Resident memory.' },
  'v8js.memory.heap.used': { unit: 'By', description: 'Memory of JavaScript objects.' },
  'db.client.connection.count': { unit: '{connection}', description: 'Open connections to PostgreSQL, by state.' },
  'db.client.connection.max': { unit: '{connection}', description: 'Connections that the pool may open.' },
  'db.client.connection.pending_requests': {
    unit: '{request}',
    description: 'Statements and transactions that wait for a connection.',
  },
};

const delayResolutionMs = 20;
const nanoseconds = 1e9;

/** Observes a process and its pool whenever metrics are collected, until it ends. */
export function observeProcess(sql: Database): void {
  if (!metricsEnabled()) return;
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delay.enable();
  meter.observe(gauges, (observe) => {
    // The monitor counts its own interval in.
    const secondsOf = (value: number) => Math.max(0, value / nanoseconds - delayResolutionMs / 1_000);
    observe('nodejs.eventloop.delay.max', secondsOf(delay.max));
    observe('nodejs.eventloop.delay.p99', secondsOf(delay.percentile(99)));
    delay.reset();
    const { rss, heapUsed } = process.memoryUsage();
    observe('process.memory.usage', rss);
    observe('v8js.memory.heap.used', heapUsed);
    const { size, used, waiting } = poolUse(sql);
    observe('db.client.connection.count', used, { 'db.client.connection.state': 'used' });
    const idle = Math.max(0, openConnections(sql) - used);
    observe('db.client.connection.count', idle, { 'db.client.connection.state': 'idle' });
    observe('db.client.connection.max', size);
    observe('db.client.connection.pending_requests', waiting);
  });
}
