import type { AttentionReason } from './queue-attention.ts';

/** Runbooks that do not depend on a queue, by topic. */
export const runbookOf = {
  failing: 'endpoint-failing',
  dead: 'dead-events',
  channel: 'channel-failing',
  messages: 'messages-failing',
  refusals: 'key-leaked',
  stranger: 'key-leaked',
  modules: 'module-off',
  plans: 'work-late',
} as const;

const messageQueues = ['messages', 'fallbacks', 'receipts', 'inbound', 'reminders'];
const workQueues = ['replays', 'handovers', 'audiences', 'duplicates', 'planning', 'steps', 'readings', 'clocks'];

/** Returns the name of the page in docs/runbooks for a queue that needs attention for this reason. */
export function runbookOfReason(reason: AttentionReason, queue: string): string {
  if (reason === 'dead') return runbookOf.dead;
  // Deliveries fail because of an endpoint; the runbook for late deliveries is about other causes.
  return reason === 'failed' && queue === 'deliveries' ? runbookOf.failing : lateRunbookOf(queue);
}

/** Returns the runbook for a late queue, the same as in deploy/observe/alerts. */
function lateRunbookOf(queue: string): string {
  if (queue === 'outbox') return 'outbox-stuck';
  if (queue === 'deliveries') return 'deliveries-late';
  if (messageQueues.includes(queue)) return 'messages-late';
  return workQueues.includes(queue) ? 'work-late' : 'consumer-lag';
}
