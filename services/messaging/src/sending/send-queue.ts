import { type DueWork, type Foundation, meter } from '@customer-platform/service-kit';
import type { MessagingConfig } from '../config.ts';
import { scheduledMessages } from '../messages/messages.sql.ts';
import { beginAttempts, type DueAttempt, dueAttempts, runningTries } from './claims.sql.ts';
import { type SendContext, sendAttempt } from './send-attempt.ts';
import type { SentResult } from './write-results.ts';
import { writeResults } from './write-results.ts';

const tries = meter.createCounter('messages.tries', {
  description: 'Provider calls by channel and outcome.',
});

/**
 * Sends due attempts. Each channel of an account is a lane, so a hanging provider delays only that channel. Its limit
 * falls to two calls, and setting the channel up again does not raise it.
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
    // A called provider may have sent the message, so calls of a dead process end as unknown.
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
