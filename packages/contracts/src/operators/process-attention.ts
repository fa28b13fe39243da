/** The fields of a process that decide whether it needs attention. */
export interface ProcessCondition {
  /** Dependencies that the process cannot reach, separated by `, `. */
  waiting_for: string | null;
  pool: { size: number; waiting: number };
}

/** A reason why a process needs attention. `text` follows the process's name and a colon, without a period. */
export interface ProcessAttention {
  text: string;
  /** The runbook, docs/runbooks/<name>.md. */
  runbook: 'redis-fallback' | 'pool-exhausted' | 'outbox-stuck' | 'service-gone';
}

const runbooks = new Map<string, ProcessAttention['runbook']>([
  ['Redis', 'redis-fallback'],
  ['PostgreSQL', 'pool-exhausted'],
  ['NATS', 'outbox-stuck'],
]);

/** Returns why a process needs attention: one reason for each unreachable dependency, then its pool. Empty if it needs none. */
export function processAttentionOf({ waiting_for, pool }: ProcessCondition): ProcessAttention[] {
  const reasons = (waiting_for?.split(', ') ?? []).map((name): ProcessAttention => {
    return { text: `waits for ${name}`, runbook: runbooks.get(name) ?? 'service-gone' };
  });
  if (pool.waiting === 0) return reasons;
  const text = `${pool.waiting} wait for one of its ${pool.size} connections to PostgreSQL`;
  return [...reasons, { text, runbook: 'pool-exhausted' }];
}
