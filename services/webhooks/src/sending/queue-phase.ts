/** What a process knows about the due deliveries of a queue that it leases. */
export type QueuePhase =
  /** There may be due deliveries that are not fetched. */
  | { readonly kind: 'unread' }
  /** A read is in progress. If `isMissed`, it may skip deliveries that became due meanwhile. */
  | { readonly kind: 'reading'; readonly isMissed: boolean }
  /** All due deliveries of this version are fetched; the next is due at `laterAt`. If `isNoted`, the row stores that time. */
  | ({ readonly kind: 'dry'; readonly sinceMs: number; readonly isNoted: boolean } & QueueVersion);

/** A version of a queue's row, which grows with new deliveries. */
export interface QueueVersion {
  readonly version: number;
  readonly laterAt: Date | null;
}

export const unread: QueuePhase = { kind: 'unread' };
export const reading: QueuePhase = { kind: 'reading', isMissed: false };

/** Marks all due deliveries as fetched. */
export function dry({ version, laterAt }: QueueVersion): QueuePhase {
  return { kind: 'dry', version, laterAt, sinceMs: performance.now(), isNoted: false };
}

/** Marks the end of a read. `hasMore`: the read left due deliveries behind. */
export function endReading(phase: QueuePhase, found: QueueVersion, hasMore: boolean): QueuePhase {
  return hasMore || (phase.kind === 'reading' && phase.isMissed) ? unread : dry(found);
}

/** Marks that deliveries may have become due. */
export function markMissed(phase: QueuePhase): QueuePhase {
  return phase.kind === 'reading' ? { kind: 'reading', isMissed: true } : unread;
}

/** Marks a queue whose row is due. If the version is unchanged and no later delivery is due yet, all due deliveries are already fetched. */
export function markDue(phase: QueuePhase, version: number, now: Date): QueuePhase {
  const isKnown = phase.kind === 'dry' && phase.version === version && (phase.laterAt === null || phase.laterAt > now);
  return isKnown ? phase : markMissed(phase);
}

/** Marks that the row stores when the next delivery is due. */
export function note(phase: QueuePhase): QueuePhase {
  return phase.kind === 'dry' ? { ...phase, isNoted: true } : phase;
}
