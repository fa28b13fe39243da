import type { QueueKey } from './dispatch.sql.ts';
import type { DueDelivery } from './outcome.ts';

/** A key that signs until `until`, or until it is replaced. */
export type SigningKey = { key: Buffer; until: Date | null };

/** An endpoint that this process works on under its lease: what is fetched, what is under way, what is known. */
export class HeldEndpoint implements QueueKey {
  readonly accountId: string;
  readonly endpointId: string;
  readonly heldSince = performance.now();
  url = '';
  /** What is known of the endpoint was read at this version of it. */
  version = -1;
  signingKeys: SigningKey[] = [];
  failingSince: Date | null = null;
  /** Fetched, waiting for their turn. */
  ready: DueDelivery[] = [];
  /** Under way, or tried and not yet written: the database still calls them due. */
  readonly busy = new Set<string>();
  inFlight = 0;
  /** Tries under way at most: falls while the endpoint times out, so that one that hangs holds few of the slots. */
  cap: number;
  /** There may be due deliveries that are not fetched. */
  mayHaveMore = true;
  /** What was seen when nothing more was due. */
  drained: { version: number; laterAt: Date | null; isNoted: boolean } | undefined;
  /** It gives way to others: nothing more is started. */
  isLeaving = false;
  /** For how long it is left alone once it was given up. */
  restMs = 0;
  lastWorkAt = performance.now();

  constructor(key: QueueKey, cap: number) {
    this.accountId = key.accountId;
    this.endpointId = key.endpointId;
    this.cap = cap;
  }

  canStart(): boolean {
    return this.ready.length > 0 && this.inFlight < this.cap && !this.isLeaving;
  }

  /** Forgets what is fetched: the endpoint has changed since, and nothing may be sent by what it was. */
  forgetFetched(): void {
    this.ready = [];
    this.mayHaveMore = true;
    this.drained = undefined;
  }

  /** How many more deliveries to fetch now; 0 where there are enough to go on with. */
  wanted(maxPerEndpoint: number): number {
    if (!this.mayHaveMore || this.isLeaving || this.ready.length > this.cap) return 0;
    return Math.min(maxPerEndpoint, this.cap) * 4;
  }

  /** A queue that was looked at again: whether anything can have become due since it was seen drained. */
  noteDue(version: number, now: Date): boolean {
    const seen = this.drained;
    const isOld = seen !== undefined && seen.version === version && (seen.laterAt === null || seen.laterAt > now);
    if (!isOld) this.mayHaveMore = true;
    return !isOld;
  }

  isIdle(): boolean {
    return this.inFlight === 0 && this.busy.size === 0 && (this.ready.length === 0 || this.isLeaving);
  }
}

/** Halves the cap on a time-out and raises it by one on any other end, between 1 and `max`. */
export function adaptedCap(cap: number, isTimeout: boolean, max: number): number {
  return isTimeout ? Math.max(1, Math.floor(cap / 2)) : Math.min(max, cap + 1);
}
