import type { Database, Sql } from '../database.ts';
import { meter } from '../telemetry.ts';
import { filter, type QueueRows } from './due-rows.ts';

const gauges = {
  'queue.ready': { description: 'Rows that are due, by queue.' },
  'queue.waiting': { description: 'Rows that are due later or run in another process.' },
  'queue.running': { description: 'Rows that run in this process.' },
  'queue.lag': { unit: 's', description: 'Age of the oldest row that is due.' },
};

/** A queue as operators see it, whoever works on it: the engine, a job in batches, or a scheduler of its own. */
export interface ReportedQueue {
  queue: string;
  rows: QueueRows;
  /** Rows that run in this process; none unless given. */
  running?(): number;
  /** A row that runs is due later, at the end of its lease. */
  hasLeases?: boolean;
}

/** Measures a queue whenever metrics are collected; returns a function that ends it. */
export function reportQueue(
  { sql, clock }: { sql: Database; clock: () => Date },
  { queue, rows, running = () => 0, hasLeases = false }: ReportedQueue,
): () => void {
  return meter.observe(gauges, async (observe) => {
    const now = clock();
    const { ready, later, oldest_due_at } = await measureQueue(sql, rows, now);
    const lagMs = oldest_due_at === null ? 0 : now.getTime() - oldest_due_at.getTime();
    observe('queue.ready', ready, { queue });
    observe('queue.waiting', hasLeases ? later - running() : later, { queue });
    observe('queue.running', running(), { queue });
    observe('queue.lag', Math.max(0, lagMs) / 1000, { queue });
  });
}

interface QueueDepth {
  /** Rows that are due. */
  ready: number;
  /** Rows that are due later or run somewhere. */
  later: number;
  oldest_due_at: Date | null;
}

async function measureQueue(sql: Sql, rows: QueueRows, now: Date): Promise<QueueDepth> {
  const due = sql(rows.due);
  const [depth] = await sql<QueueDepth[]>`
    select count(*) filter (where ${due} <= ${now})::float8 as ready, count(*) filter (where ${due} > ${now})::float8 as later,
      min(${due}) as oldest_due_at
    from ${sql(rows.name)} where ${due} is not null ${filter(sql, rows)}`;
  return depth!;
}
