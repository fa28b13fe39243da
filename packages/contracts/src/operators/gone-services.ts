/** Services that do not respond, in words. `who` begins a sentence or a line, `so` goes on after a colon; neither ends with a full stop. */
export interface GoneText {
  who: string;
  so: string;
  /** The page that says what to do: docs/runbooks/<name>.md. */
  runbook: 'outbox-stuck' | 'service-gone';
}

/**
 * Returns whether the bus is what does not respond. The gateway asks itself over it too, so that a gateway that replied to this request
 * and is gone all the same is a gateway without a bus.
 */
export function isBusGone(gone: readonly string[]): boolean {
  return gone.includes('gateway');
}

/**
 * Says which services do not respond, and that therefore `what` of theirs (such as `queues`) is not listed; or that the bus does not
 * respond. Undefined where all do.
 */
export function goneText(gone: readonly string[], what: string): GoneText | undefined {
  if (!isBusGone(gone)) return silentText(gone, what);
  // All but processes is read from PostgreSQL, without which services are silent too.
  const who = what === 'processes' ? 'NATS does not respond' : 'NATS or PostgreSQL does not respond';
  return { who, so: 'services may be well', runbook: 'outbox-stuck' };
}

/** The same where it is known that the bus responds. */
export function silentText(gone: readonly string[], what: string): GoneText | undefined {
  if (gone.length === 0) return undefined;
  const [verb, whose] = gone.length === 1 ? ['does', 'its'] : ['do', 'their'];
  return {
    who: `${gone.join(', ')} ${verb} not respond`,
    so: `${whose} ${what} are not listed`,
    runbook: 'service-gone',
  };
}
