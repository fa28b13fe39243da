import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { drill } from './drill/drill.ts';
import { poison } from './drill/queue-faults.ts';
import { scaleRules } from './drill/scaled-rules.ts';
import { startWorld } from './drill/world.ts';
import { findPrometheus } from './prometheus.ts';

const root = join(import.meta.dirname, '..');

it('scales only durations, windows and ages of the rules', () => {
  const rules =
    'expr: max by (job) (queue_lag{queue="outbox"}) > 60\nfor: 2m\nexpr: rate(x{le="0.5"}[1h]) > 14.4 * 0.001\n';
  expect(scaleRules(rules, 60)).toBe(
    'expr: max by (job) (queue_lag{queue="outbox"}) > 1\nfor: 2000ms\nexpr: rate(x{le="0.5"}[60000ms]) > 14.4 * 0.001\n',
  );
  const queues = scaleRules(readFileSync(join(root, 'deploy/observe/alerts/queues.yml'), 'utf8'), 60);
  const limits = [...queues.matchAll(/\) > ([\d.]+)\n/g)].map(([, limit]) => Number(limit));
  expect(limits).toEqual([1, 1, 0, 5, 2, 15, 60, 0]);
});

it('a drill with invalid event bytes sees the alert, clears it with the tool, and loses nothing', async () => {
  if (!(await findPrometheus())) return;
  const lines: string[] = [];
  const world = await startWorld((line) => lines.push(line));
  try {
    const outcome = await drill(poison, world);
    expect({ problem: outcome.problem, lines }).toEqual({ problem: null, lines });
    expect(outcome.proven).toBeGreaterThan(0);
    expect(lines.join('\n')).toContain('admin dead drop ');
  } finally {
    await world.stop();
  }
}, 240_000);
