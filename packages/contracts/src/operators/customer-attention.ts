/** Limits above which an account needs attention; all counts are of the last hour. */
export const customerLimits = {
  /** An account with more failed messages than this needs attention. */
  failedMessages: 20,
  /** An account needs attention if more than this share of at least `minRequests` requests was refused. */
  refusedShare: 0.05,
  minRequests: 50,
} as const;
