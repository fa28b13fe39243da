/** The part of a process that tells whether somebody should look at it. */
export interface ProcessCondition {
  /** Dependencies that it cannot reach, with `, ` between them. */
  waiting_for: string | null;
  pool: { size: number; waiting: number };
}

/** A reason for which a person on call looks at a process. `text` goes on after its name and a colon, without a full stop. */
export interface ProcessAttention {
  text: string;
  /** The page that says what to do: docs/runbooks/<name>.md. */
  runbook: 'redis-fallback' | 'pool-exhausted' | 'outbox-stuck' | 'service-gone';
}

const runbooks = new Map<string, ProcessAttention['runbook']>([
  ['Redis', 'redis-fallback'],
  ['PostgreSQL', 'pool-exhausted'],
  ['NATS', 'outbox-stuck'],
]);

/** Returns why a process needs attention: a reason for each dependency that it waits for, then its pool; empty where it needs none. */
export function processAttentionOf({ waiting_for, pool }: ProcessCondition): ProcessAttention[] {
  const reasons = (waiting_for?.split(', ') ?? []).map((name): ProcessAttention => {
    return { text: `waits for ${name}`, runbook: runbooks.get(name) ?? 'service-gone' };
  });
  if (pool.waiting === 0) return reasons;
  const text = `${pool.waiting} wait for one of its ${pool.size} connections to PostgreSQL`;
  return [...reasons, { text, runbook: 'pool-exhausted' }];
}
