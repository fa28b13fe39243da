import { type DueWork, type Foundation, meter } from '@customer-platform/service-kit';
import type { MessagingConfig } from '../config.ts';
import { scheduledMessages } from '../messages/messages.sql.ts';
import { beginAttempts, type DueAttempt, dueAttempts, runningTries } from './claims.sql.ts';
import { type SendContext, sendAttempt } from './send-attempt.ts';
import type { SentResult } from './write-results.ts';
import { writeResults } from './write-results.ts';

const tries = meter.createCounter('messages.tries', {
  description: 'Tries of messages by channel and what came of them.',
});

/**
 * Sends what is due. Lanes are the channels of accounts: a provider that hangs holds up its own account's channel alone, whose limit falls
 * to two calls, and whoever sets the channel up again gets no more.
 */
export function messageSending(
  foundation: Foundation<MessagingConfig>,
  context: SendContext,
): DueWork<DueAttempt, SentResult> {
  const { config } = foundation;
  return {
    queue: 'messages',
    table: dueAttempts,
    scheduled: scheduledMessages,
    concurrency: {
      most: config.MESSAGING_MAX_IN_FLIGHT * 4,
      perLane: config.MESSAGING_MAX_PER_CHANNEL,
      firstPerLane: 8,
      lowestPerLane: 2,
      keepsSlowApart: true,
    },
    // A provider that was called may have sent the message: tries of a process that died end as unknown.
    retries: null,
    running: runningTries.where,
    everyMs: 100,
    gatherMs: 5,
    stopMs: 16_000,
    claim: (sql, claim) => beginAttempts(sql, claim, config.MESSAGING_CHANNEL_HOLD),
    async run(attempt) {
      if (attempt.is_held) return { outcome: 'held' };
      const result = await sendAttempt(attempt, context);
      tries.add(1, { channel: attempt.channel, outcome: result.outcome });
      return result;
    },
    endOf: ({ outcome }) => (outcome === 'unknown' ? 'timeout' : 'responded'),
    settle: (ended) => writeResults(foundation, ended, config.MESSAGING_CHANNEL_HOLD),
  };
}
