/** Runbooks that do not depend on a queue, by what they are about. */
export const runbookOf = {
  failing: 'endpoint-failing',
  dead: 'dead-events',
} as const;

const messageQueues = ['messages', 'fallbacks', 'receipts', 'inbound', 'reminders'];
const workQueues = ['replays', 'handovers', 'audiences', 'duplicates', 'planning', 'steps', 'readings'];

/** Returns the runbook of a queue that is late, by the rules of deploy/observe/alerts. */
export function runbookOfQueue(queue: string): string {
  if (queue === 'outbox') return 'outbox-stuck';
  if (queue === 'deliveries') return 'deliveries-late';
  if (messageQueues.includes(queue)) return 'messages-late';
  return workQueues.includes(queue) ? 'work-late' : 'consumer-lag';
}

/** Returns the runbook of a queue whose entries wait after a failure: deliveries fail at an endpoint, which is not why they are late. */
export function runbookOfFailed(queue: string): string {
  return queue === 'deliveries' ? runbookOf.failing : runbookOfQueue(queue);
}
