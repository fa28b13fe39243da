import type { AttentionReason } from './queue-attention.ts';

/** Runbooks that do not depend on a queue, by what they are about. */
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

/** Returns the page in docs/runbooks for one reason for which a queue needs attention. */
export function runbookOfReason(reason: AttentionReason, queue: string): string {
  if (reason === 'dead') return runbookOf.dead;
  // Deliveries fail at an endpoint, which is not why they are late.
  return reason === 'failed' && queue === 'deliveries' ? runbookOf.failing : lateRunbookOf(queue);
}

/** Returns that of a queue that is late, by the rules of deploy/observe/alerts. */
function lateRunbookOf(queue: string): string {
  if (queue === 'outbox') return 'outbox-stuck';
  if (queue === 'deliveries') return 'deliveries-late';
  if (messageQueues.includes(queue)) return 'messages-late';
  return workQueues.includes(queue) ? 'work-late' : 'consumer-lag';
}
