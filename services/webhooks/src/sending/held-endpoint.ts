import type { KeyObject } from 'node:crypto';
import { decryptSecret, type SecretKeys, signingKeyOf } from '@customer-platform/outbound';
import type { Logger, Paused, RunEnd } from '@customer-platform/service-kit';
import type { BytesUnderWay } from './bytes-under-way.ts';
import type { QueueKey } from './dispatch.sql.ts';
import type { DueDelivery, EndReason, TryOutcome } from './outcome.ts';
import { dry, missSomething, type QueuePhase, reading, unread } from './queue-phase.ts';
import { maxReadBytes, type QueueState } from './read-queues.sql.ts';

/** A key that signs until `until`, or until it is replaced. */
export type SigningKey = { key: KeyObject; until: Date | null };

/** From here on of one endpoint, no further try of it begins: memory stays bounded while another transaction has its row. */
const maxUnwritten = 200;

/** Deliveries that are taken from memory at once: about as many as are read. */
const mostMade = 40;

/** A queue whose endpoint's secret cannot be read is looked at again after this. */
const unreadableRestMs = 60_000;

/** Characters fetched from which on nothing more is: large events wait in the database, not in memory. */
const enoughFetched = 131_072;

/** An endpoint that this process works on under its lease: what is fetched, what is under way, what is known. */
export class HeldEndpoint implements QueueKey {
  readonly accountId: string;
  readonly endpointId: string;
  readonly heldSince = performance.now();
  url = '';
  /** Version of the endpoint at which its state was read. */
  version = -1;
  signingKeys: SigningKey[] = [];
  /** Since when it has only failed. */
  failingSince: Date | null = null;
  /** Fetched, waiting for their turn. */
  ready: DueDelivery[] = [];
  /** Under way, or tried and not yet written: the database still calls them due. */
  readonly busy = new Set<string>();
  inFlight = 0;
  /** Tries under way at most: earned by successes, lost by a time-out, so that one that hangs holds one of the slots. */
  cap: number;
  /** The endpoint itself has changed since it was read. */
  hasChanged = false;
  /** Why its tries were cut off when it was last found off or gone. */
  endReason: EndReason | undefined;
  queue: QueuePhase = unread;
  /** Tries have ended whose outcomes the read under way may not have seen. */
  #hasHeard = false;
  /** It gives way to others: nothing more is started. */
  isLeaving = false;
  /** Until when its lease holds for sure, on the monotonic clock: behind it another process may have it, and nothing is started. */
  certainUntilMs: number;
  /** For how long it is left alone once it was given up. */
  restMs = 0;
  lastWorkAt = performance.now();

  constructor(key: QueueKey, cap: number, certainUntilMs = Number.POSITIVE_INFINITY) {
    this.accountId = key.accountId;
    this.endpointId = key.endpointId;
    this.cap = cap;
    this.certainUntilMs = certainUntilMs;
  }

  get key(): QueueKey {
    return { accountId: this.accountId, endpointId: this.endpointId };
  }

  /** Takes over what its row says. Throws where a secret cannot be read. */
  learn({ url, failingSince, secrets }: NonNullable<QueueState['endpoint']>, keys: SecretKeys): void {
    const heard = this.#hasHeard && url === this.url;
    this.failingSince = heard ? later(this.failingSince, failingSince) : failingSince;
    this.url = url;
    this.signingKeys = secrets.map(({ stored, until }) => {
      return { key: signingKeyOf(decryptSecret(keys, stored, this.accountId, this.endpointId)), until };
    });
  }

  /** The same; false where a secret cannot be read, which is logged: it is looked at again later. */
  learnOrRest(
    endpoint: NonNullable<QueueState['endpoint']>,
    { secretKeys, log }: { secretKeys: SecretKeys; log: Logger },
  ): boolean {
    try {
      this.learn(endpoint, secretKeys);
      return true;
    } catch (error) {
      log.error({ err: error, endpoint: this.endpointId }, 'the secret of an endpoint cannot be read');
      this.giveUp(unreadableRestMs);
      return false;
    }
  }

  /** Returns whether a try of it may begin. */
  canStart(): boolean {
    const mayBegin = this.inFlight < this.cap && this.#unwritten < maxUnwritten && !this.isLeaving;
    return this.ready.length > 0 && mayBegin && performance.now() < this.certainUntilMs;
  }

  /** Returns the same, and whether its account may have the bytes of its next delivery under way. */
  canTake(bytes: BytesUnderWay): boolean {
    return this.canStart() && bytes.mayTake(this.accountId, this.ready[0]!);
  }

  /** Characters that are fetched. */
  get fetchedLength(): number {
    return lengthOf(this.ready);
  }

  /** Returns how many tries may begin beside those under way, of what is fetched. */
  room(): number {
    return Math.min(this.ready.length, this.cap - this.inFlight);
  }

  /**
   * Its queue is being read. What becomes due meanwhile raises the version again and is noticed at the next look. Until what was read is taken in
   * nobody knows whether it has run dry: what was seen before is not written, nor the queue given back, nor anything taken from memory.
   */
  beginRead(): void {
    this.queue = reading;
    this.#hasHeard = this.#unwritten > 0;
  }

  /** Takes out what is to be sent next; undefined where nothing may begin, or the account has too many bytes under way. */
  takeNext(bytes: BytesUnderWay): DueDelivery | undefined {
    if (!this.canTake(bytes)) return undefined;
    const next = this.ready.shift()!;
    bytes.take(this.accountId, next);
    this.busy.add(next.id);
    this.inFlight++;
    return next;
  }

  /** Tries that have ended and are not yet written. */
  get #unwritten(): number {
    return this.busy.size - this.inFlight;
  }

  /** Takes note of what a try says of it, before that is written: a failure that comes behind a success is no longer one of only failures. */
  hear({ url, status, isAborted, at }: Pick<TryOutcome, 'url' | 'status' | 'isAborted' | 'at'>): void {
    this.#hasHeard = true;
    if (isAborted || url !== this.url) return;
    this.failingSince = status === 'delivered' ? null : (this.failingSince ?? at);
  }

  /** Notes the end of a try: its outcome is still to be written. */
  ended(delivery: DueDelivery, bytes: BytesUnderWay): void {
    bytes.giveBack(this.accountId, delivery);
    this.inFlight--;
    this.lastWorkAt = performance.now();
  }

  /** Forgets what is fetched: the endpoint has changed since, and nothing may be sent by what it was. */
  forgetFetched(): void {
    this.ready = [];
    this.hasChanged = true;
    this.queue = missSomething(this.queue);
  }

  /** Sends nothing more of it and leaves it alone for `restMs`, counted from when its tries under way have ended. */
  giveUp(restMs: number): void {
    this.ready = [];
    this.queue = unread;
    this.isLeaving = true;
    this.restMs = restMs;
  }

  /** Returns the number of deliveries to fetch now; 0 if there are enough to go on with. */
  wanted(maxPerEndpoint: number): number {
    // Also where it gives way to others: its tries under way are to end when it is off or gone.
    if (this.isLeaving && !this.hasChanged) return 0;
    if (this.queue.kind !== 'unread' || this.ready.length > this.cap) return 0;
    if (this.fetchedLength >= enoughFetched) return 0;
    return Math.min(maxPerEndpoint, this.cap) * 4;
  }

  /**
   * Takes deliveries that were just made, where nothing else can have become due since it was seen drained: neither in the queue, by its
   * version, nor by an endpoint that is not as it was read. Returns false where that is not known, or they are many or large: they are read then.
   */
  takeMade(due: readonly DueDelivery[], queue: { version: number; endpointVersion: number }): boolean {
    const seen = this.queue;
    if (seen.kind !== 'dry' || seen.version + 1 !== queue.version || this.version !== queue.endpointVersion)
      return false;
    if (this.isLeaving || this.ready.length > this.cap) return false;
    if (due.length > mostMade || lengthOf(due) > maxReadBytes) return false;
    this.ready.push(...due);
    this.queue = dry({ version: queue.version, laterAt: seen.laterAt });
    return true;
  }

  isIdle(): boolean {
    return this.inFlight === 0 && this.busy.size === 0 && (this.ready.length === 0 || this.isLeaving);
  }
}

/** Returns the later beginning of failing; null where either is: a success came after the other, or a failure of which the next read knows. */
function later(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return null;
  return one > other ? one : other;
}

/** Returns the characters of what is to be sent. */
function lengthOf(deliveries: readonly DueDelivery[]): number {
  return deliveries.reduce((sum, { envelope }) => sum + envelope.length, 0);
}

/** The cap of an endpoint that nothing is known of: a new one, and one that was deleted and made again. */
export const firstCap = 1;

/** Doubles the cap with each success, up to `max`; after a time-out it begins again with one. Other failures hold no slot for long. */
export function adaptedCap(cap: number, end: RunEnd, max: number): number {
  if (end === 'timeout') return firstCap;
  return end === 'responded' ? Math.min(max, cap * 2) : cap;
}

/** Returns whether operators paused an endpoint, its account or everything: no try may begin there. */
export function isPaused({ accountId, endpointId }: QueueKey, { isWhole, accounts, endpoints }: Paused): boolean {
  return isWhole || accounts.includes(accountId) || endpoints.includes(endpointId);
}
