/** Age in seconds of the oldest due entry above which a queue needs attention: that of the alerts for what customers wait for. */
export const lagLimitSeconds = 60;

/** Reasons for which a person on call looks at a queue, the most urgent first. */
export const attentionReasons = ['lag', 'dead', 'failed', 'paused'] as const;
export type AttentionReason = (typeof attentionReasons)[number];

/** The reasons in words, for a sentence about queues: `queues that …`. */
export const attentionText = `lag by more than ${lagLimitSeconds} s, are paused, or have dead or failed entries`;

/** The part of a queue that tells whether somebody should look at it. */
export interface QueueCondition {
  lag_seconds: number;
  dead: number;
  /** Entries that wait after a failed try; null where they are not counted. */
  failed_waiting: number | null;
  pauses: readonly unknown[];
}

/**
 * Returns why a queue needs attention, the most urgent first; empty where it needs none. Entries that are due are no reason by themselves:
 * a queue that is worked on has some at every look.
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
