/** From where on what a customer meets needs attention; all counts are of the last hour. */
export const customerLimits = {
  /** More failed messages than these. */
  failedMessages: 20,
  /** More than this share of the requests was refused, of so many or more. */
  refusedShare: 0.05,
  leastRequests: 50,
} as const;
