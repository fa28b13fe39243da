/** The page for a bus that does not respond. */
const busRunbook = 'docs/runbooks/outbox-stuck.md';

/**
 * Returns whether the bus is what does not respond. The gateway asks itself over it too, so that a gateway that replied
 * to this request and is gone all the same is a gateway without a bus.
 */
export function isBusGone(gone: readonly string[]): boolean {
  return gone.includes('gateway');
}

/** Entries that a list lacks: those of the services that are gone. */
export interface Lacks {
  gone: readonly string[];
  what: 'queues' | 'dead events' | 'processes' | 'entries';
}

/** Returns lines for above a list, which say what it lacks; none where no service is gone. */
export function goneLines({ gone, what }: Lacks): string[] {
  if (gone.length === 0) return [];
  if (isBusGone(gone)) {
    // All but processes is read from PostgreSQL, without which services are silent too.
    const also = what === 'processes' ? '' : ' (or PostgreSQL, if `services` lists processes)';
    return [`the bus (NATS) does not respond${also}:`, `nobody can be asked, services may be well. See ${busRunbook}`];
  }
  const [verb, whose] = gone.length === 1 ? ['does', 'its'] : ['do', 'their'];
  return [`${gone.join(', ')} ${verb} not respond: ${whose} ${what} are not listed`];
}

/** The live view's line for a bus that does not respond. */
export const busGoneText = `NATS does not respond; services may be well. See ${busRunbook}`;
