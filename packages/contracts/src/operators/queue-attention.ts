/** Age in seconds of the oldest due entry above which a queue needs attention. Alerts for customers' work have the same limit. */
export const lagLimitSeconds = 60;

/** Reasons why a queue needs attention, most urgent first. */
export const attentionReasons = ['lag', 'dead', 'failed', 'paused'] as const;
export type AttentionReason = (typeof attentionReasons)[number];

/** The reasons as text that completes `queues that …`. */
export const attentionText = `lag by more than ${lagLimitSeconds} s, are paused, or have dead or failed entries`;

/** The fields of a queue that decide whether it needs attention. */
export interface QueueCondition {
  lag_seconds: number;
  dead: number;
  /** Entries that wait after a failed attempt; null if they are not counted. */
  failed_waiting: number | null;
  pauses: readonly unknown[];
}

/**
 * Returns why a queue needs attention, most urgent first; empty if it needs none. Due entries alone are no reason, since a busy queue
 * always has some.
 */
export function attentionOf({ lag_seconds, dead, failed_waiting, pauses }: QueueCondition): AttentionReason[] {
  const applies: Record<AttentionReason, boolean> = {
    lag: lag_seconds > lagLimitSeconds,
    dead: dead > 0,
    failed: (failed_waiting ?? 0) > 0,
    paused: pauses.length > 0,
  };
  return attentionReasons.filter((reason) => applies[reason]);
}

/** Returns whether a queue needs attention. */
export function needsAttention(queue: QueueCondition): boolean {
  return attentionOf(queue).length > 0;
}
