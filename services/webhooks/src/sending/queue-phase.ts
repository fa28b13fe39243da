/** What a process knows of the due deliveries of a queue under its lease. */
export type QueuePhase =
  /** There may be due deliveries that are not fetched. */
  | { readonly kind: 'unread' }
  /** A read is under way; `isMissed`: it may pass over deliveries that became due meanwhile. */
  | { readonly kind: 'reading'; readonly isMissed: boolean }
  /** All that was due is fetched: at a version of the queue, whose next delivery is due at `laterAt`. `isNoted`: its row says so. */
  | ({ readonly kind: 'dry'; readonly sinceMs: number; readonly isNoted: boolean } & QueueVersion);

/** A state of a queue's row: the version grows with what comes in. */
export interface QueueVersion {
  readonly version: number;
  readonly laterAt: Date | null;
}

export const unread: QueuePhase = { kind: 'unread' };
export const reading: QueuePhase = { kind: 'reading', isMissed: false };

/** Nothing more is due than what is fetched. */
export function dry({ version, laterAt }: QueueVersion): QueuePhase {
  return { kind: 'dry', version, laterAt, sinceMs: performance.now(), isNoted: false };
}

/** A read has ended, `hasMore` where it found more than it took. */
export function endReading(phase: QueuePhase, found: QueueVersion, hasMore: boolean): QueuePhase {
  return hasMore || (phase.kind === 'reading' && phase.isMissed) ? unread : dry(found);
}

/** Something may have become due. */
export function missSomething(phase: QueuePhase): QueuePhase {
  return phase.kind === 'reading' ? { kind: 'reading', isMissed: true } : unread;
}

/** The queue's row says that something is due, which may be what was fetched: then neither its version has grown nor its time come. */
export function seeDue(phase: QueuePhase, version: number, now: Date): QueuePhase {
  const isKnown = phase.kind === 'dry' && phase.version === version && (phase.laterAt === null || phase.laterAt > now);
  return isKnown ? phase : missSomething(phase);
}

/** The row says when the next delivery is due. */
export function note(phase: QueuePhase): QueuePhase {
  return phase.kind === 'dry' ? { ...phase, isNoted: true } : phase;
}
