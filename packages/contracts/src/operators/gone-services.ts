/** Text about services that do not respond. `who` begins a line, and `so` follows after a colon; neither ends with a period. */
export interface GoneText {
  who: string;
  so: string;
  /** The runbook, docs/runbooks/<name>.md. */
  runbook: 'outbox-stuck' | 'service-gone';
}

/**
 * Returns whether the bus does not respond. The gateway asks itself over the bus too. If it replied to this request and is still among the
 * gone services, it has no bus.
 */
export function isBusGone(gone: readonly string[]): boolean {
  return gone.includes('gateway');
}

/**
 * Says which services do not respond, or that the bus does not. `what` names the missing part of these services, such as `queues`. Returns
 * undefined if all services respond.
 */
export function goneText(gone: readonly string[], what: string): GoneText | undefined {
  if (!isBusGone(gone)) return silentText(gone, what);
  // Everything except processes is read from PostgreSQL: services do not reply without it either.
  const who = what === 'processes' ? 'NATS does not respond' : 'NATS or PostgreSQL does not respond';
  return { who, so: 'the services may still be running', runbook: 'outbox-stuck' };
}

/** Like `goneText`, for a caller that knows that the bus responds. */
export function silentText(gone: readonly string[], what: string): GoneText | undefined {
  if (gone.length === 0) return undefined;
  const [verb, whose] = gone.length === 1 ? ['does', 'its'] : ['do', 'their'];
  return {
    who: `${gone.join(', ')} ${verb} not respond`,
    so: `${whose} ${what} are not listed`,
    runbook: 'service-gone',
  };
}
