import type { KeyObject } from 'node:crypto';
import { decryptSecret, type SecretKeys, signingKeyOf } from '@customer-platform/outbound';
import type { Logger, Paused, RunEnd } from '@customer-platform/service-kit';
import type { BytesUnderWay } from './bytes-under-way.ts';
import type { QueueKey } from './dispatch.sql.ts';
import type { DueDelivery, EndReason, TryOutcome } from './outcome.ts';
import { dry, markMissed, type QueuePhase, reading, unread } from './queue-phase.ts';
import { maxReadBytes, type QueueState } from './read-queues.sql.ts';

/** A signing key, valid until `until`. If `until` is null, it is valid until it is replaced. */
export type SigningKey = { key: KeyObject; until: Date | null };

/** No attempt to an endpoint begins while this many outcomes are unwritten. Bounds memory while another transaction locks its row. */
const maxUnwritten = 200;

/** Maximum number of deliveries accepted from memory at once: about as many as one read fetches. */
const maxCreated = 40;

/** If an endpoint's secret cannot be decrypted, its queue is claimed again after this pause. */
const unreadablePauseMs = 60_000;

/** With this many characters fetched, no more are fetched: large events wait in the database, not in memory. */
const maxFetchedLength = 131_072;

/** An endpoint whose queue this process has leased, with its fetched deliveries and attempts in flight. */
export class HeldEndpoint implements QueueKey {
  readonly accountId: string;
  readonly endpointId: string;
  readonly heldSince = performance.now();
  url = '';
  /** The endpoint's version when it was last read. */
  version = -1;
  signingKeys: SigningKey[] = [];
  /** Time of the first failed attempt since the last success. */
  failingSince: Date | null = null;
  /** Fetched deliveries that wait for their turn. */
  ready: DueDelivery[] = [];
  /** Ids of deliveries in flight or with an unwritten outcome. The database still lists them as due. */
  readonly busy = new Set<string>();
  inFlight = 0;
  /** Maximum number of attempts in flight. Grows with successes and drops with a timeout, so that a hanging endpoint holds one slot. */
  cap: number;
  /** The endpoint has changed since it was last read. */
  hasChanged = false;
  /** Why its attempts were aborted when it was last found disabled or deleted. */
  endReason: EndReason | undefined;
  queue: QueuePhase = unread;
  /** Some attempts have ended, and the read in progress may not contain their outcomes. */
  #hasNewOutcomes = false;
  /** The queue is to be released: no attempt begins. */
  isLeaving = false;
  /** On the monotonic clock, the time until which the lease certainly holds. Later, another process may hold it and no attempt begins. */
  certainUntilMs: number;
  /** Time in ms before the queue is due again after it was given up. */
  pauseMs = 0;
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

  /** Stores the endpoint's row. Throws if a secret cannot be decrypted. */
  learn({ url, failingSince, secrets }: NonNullable<QueueState['endpoint']>, keys: SecretKeys): void {
    const hasNewOutcomes = this.#hasNewOutcomes && url === this.url;
    this.failingSince = hasNewOutcomes ? later(this.failingSince, failingSince) : failingSince;
    this.url = url;
    this.signingKeys = secrets.map(({ stored, until }) => {
      return { key: signingKeyOf(decryptSecret(keys, stored, this.accountId, this.endpointId)), until };
    });
  }

  /** Like `learn`, but if a secret cannot be decrypted, logs, gives up the queue for a minute and returns false. */
  learnOrGiveUp(
    endpoint: NonNullable<QueueState['endpoint']>,
    { secretKeys, log }: { secretKeys: SecretKeys; log: Logger },
  ): boolean {
    try {
      this.learn(endpoint, secretKeys);
      return true;
    } catch (error) {
      log.error({ err: error, endpoint: this.endpointId }, 'cannot decrypt the signing secret of an endpoint');
      this.giveUp(unreadablePauseMs);
      return false;
    }
  }

  /** Returns whether an attempt may begin. */
  canStart(): boolean {
    const mayBegin = this.inFlight < this.cap && this.#unwritten < maxUnwritten && !this.isLeaving;
    return this.ready.length > 0 && mayBegin && performance.now() < this.certainUntilMs;
  }

  /** Returns whether an attempt may begin and the account has room in memory for the next delivery. */
  canTake(bytes: BytesUnderWay): boolean {
    return this.canStart() && bytes.mayTake(this.accountId, this.ready[0]!);
  }

  /** Characters of all fetched deliveries. */
  get fetchedLength(): number {
    return lengthOf(this.ready);
  }

  /** Returns how many of the fetched deliveries may begin within the cap. */
  room(): number {
    return Math.min(this.ready.length, this.cap - this.inFlight);
  }

  /**
   * Notes that a read of the queue begins. A delivery that becomes due meanwhile raises the version, and the next look notices it. Until the read
   * ends, the queue is not known to be drained: its next due time is not stored, and it is neither released nor given deliveries from memory.
   */
  beginRead(): void {
    this.queue = reading;
    this.#hasNewOutcomes = this.#unwritten > 0;
  }

  /** Takes the next delivery to send. Returns undefined if no attempt may begin or the account has too many bytes in flight. */
  takeNext(bytes: BytesUnderWay): DueDelivery | undefined {
    if (!this.canTake(bytes)) return undefined;
    const next = this.ready.shift()!;
    bytes.take(this.accountId, next);
    this.busy.add(next.id);
    this.inFlight++;
    return next;
  }

  /** Number of attempts that have ended and are not yet written. */
  get #unwritten(): number {
    return this.busy.size - this.inFlight;
  }

  /** Applies an attempt's result to `failingSince` before it is written. A failure after a success begins a new period of failing. */
  applyResult({ url, status, isAborted, at }: Pick<TryOutcome, 'url' | 'status' | 'isAborted' | 'at'>): void {
    this.#hasNewOutcomes = true;
    if (isAborted || url !== this.url) return;
    this.failingSince = status === 'delivered' ? null : (this.failingSince ?? at);
  }

  /** Notes the end of an attempt whose outcome is not yet written. */
  ended(delivery: DueDelivery, bytes: BytesUnderWay): void {
    bytes.release(this.accountId, delivery);
    this.inFlight--;
    this.lastWorkAt = performance.now();
  }

  /** Drops fetched deliveries because the endpoint has changed since: they must not be sent with its old state. */
  dropFetched(): void {
    this.ready = [];
    this.hasChanged = true;
    this.queue = markMissed(this.queue);
  }

  /** Starts no further attempt and releases the queue for `pauseMs`, counted from the end of its attempts in flight. */
  giveUp(pauseMs: number): void {
    this.ready = [];
    this.queue = unread;
    this.isLeaving = true;
    this.pauseMs = pauseMs;
  }

  /** Returns the number of deliveries to fetch now, 0 if enough are fetched. */
  wanted(maxPerEndpoint: number): number {
    // A changed endpoint is read even while leaving: if it is disabled or deleted, its attempts must be aborted.
    if (this.isLeaving && !this.hasChanged) return 0;
    if (this.queue.kind !== 'unread' || this.ready.length > this.cap) return 0;
    if (this.fetchedLength >= maxFetchedLength) return 0;
    return Math.min(maxPerEndpoint, this.cap) * 4;
  }

  /**
   * Accepts deliveries that were just created if nothing else can have become due since the queue was drained. The versions of queue and endpoint
   * prove that. Returns false if they do not, or if the deliveries are too many or too large. They are then read from the database.
   */
  acceptCreated(due: readonly DueDelivery[], queue: { version: number; endpointVersion: number }): boolean {
    const seen = this.queue;
    if (seen.kind !== 'dry' || seen.version + 1 !== queue.version || this.version !== queue.endpointVersion)
      return false;
    if (this.isLeaving || this.ready.length > this.cap) return false;
    if (due.length > maxCreated || lengthOf(due) > maxReadBytes) return false;
    this.ready.push(...due);
    this.queue = dry({ version: queue.version, laterAt: seen.laterAt });
    return true;
  }

  isIdle(): boolean {
    return this.inFlight === 0 && this.busy.size === 0 && (this.ready.length === 0 || this.isLeaving);
  }
}

/** Returns the later time, or null (not failing) if either is null. If a failure is missed, the next read brings it. */
function later(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return null;
  return one > other ? one : other;
}

/** Returns the characters of the deliveries' envelopes. */
function lengthOf(deliveries: readonly DueDelivery[]): number {
  return deliveries.reduce((sum, { envelope }) => sum + envelope.length, 0);
}

/** Cap of an unknown endpoint: a new one, or one whose earned cap was lost. */
export const firstCap = 1;

/** Doubles the cap with each success, up to `max`, and resets it after a timeout. Other failures keep it because they hold no slot for long. */
export function adaptedCap(cap: number, end: RunEnd, max: number): number {
  if (end === 'timeout') return firstCap;
  return end === 'responded' ? Math.min(max, cap * 2) : cap;
}

/** Returns whether operators paused the endpoint, its account or all sending. */
export function isPausedByOperators(
  { accountId, endpointId }: QueueKey,
  { isWhole, accounts, endpoints }: Paused,
): boolean {
  return isWhole || accounts.includes(accountId) || endpoints.includes(endpointId);
}
