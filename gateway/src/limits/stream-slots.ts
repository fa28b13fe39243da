import { randomUUID } from 'node:crypto';
import type { ApiError } from '@customer-platform/contracts/core';
import { limitReached, withTimeout } from '@customer-platform/service-kit';
import type { LiveGateways } from './live-gateways.ts';
import { rateLimited } from './rate-limiter.ts';
import type { GatewayRedis } from './redis.ts';

/** Maximum open streams of a key. */
const maxOfKey = 5;
/** Lease of a slot. The slots of a gateway that crashed are free after it expires. */
const leaseMs = 15_000;
const renewEveryMs = 5_000;
/** `Retry-After` of a refused stream. */
const retryMs = 5_000;

/** A stream that counts for its key. */
export interface Slot {
  readonly keyId: string;
  readonly id: string;
}

/** Counts the streams of each key over all gateways in Redis. While Redis does not respond, each gateway grants its share. */
export class StreamSlots {
  readonly #redis: GatewayRedis;
  readonly #gateways: Pick<LiveGateways, 'count'>;
  readonly #byKey = new Map<string, Set<Slot>>();
  readonly #timer: NodeJS.Timeout;

  constructor(redis: GatewayRedis, gateways: Pick<LiveGateways, 'count'>) {
    this.#redis = redis;
    this.#gateways = gateways;
    this.#timer = setInterval(() => this.#renew(), renewEveryMs);
  }

  /** Takes a slot of a key, which the caller must give back. Throws 429 with Retry-After if none is left. Waits at most REDIS_TIMEOUT_MS. */
  async take(keyId: string): Promise<Slot> {
    const slot = { keyId, id: randomUUID() };
    const own = this.#byKey.get(keyId) ?? new Set();
    if (own.size >= maxOfKey) throw tooManyStreams('key', maxOfKey);
    // Count the slot before waiting, so that concurrent calls see it.
    this.#byKey.set(keyId, own.add(slot));
    const isGranted = await this.#hold(slot, maxOfKey).catch(() => this.#isInOwnPart(slot, own));
    if (isGranted) return slot;
    this.release(slot);
    throw tooManyStreams('key', maxOfKey);
  }

  /** Gives a slot back; idempotent. */
  release(slot: Slot): void {
    const own = this.#byKey.get(slot.keyId);
    if (!own?.delete(slot)) return;
    if (own.size === 0) this.#byKey.delete(slot.keyId);
    // If Redis does not respond, the lease expires.
    void this.#redis.zrem(nameOf(slot), slot.id).catch(() => undefined);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Returns whether a slot is in this gateway's share of a key's slots, which the oldest slots get. Comparing the
   * number instead would refuse all of many concurrent requests, since each counts the others.
   */
  #isInOwnPart(slot: Slot, own: ReadonlySet<Slot>): boolean {
    const part = Math.max(1, Math.floor(maxOfKey / this.#gateways.count()));
    return [...own].slice(0, part).includes(slot);
  }

  async #hold(slot: Slot, most: number): Promise<boolean> {
    const held = this.#redis.holdSlot(nameOf(slot), leaseMs * 1_000, most, slot.id);
    return (await withTimeout(this.#redis.timeoutMs, held)) === 1;
  }

  /** Renews all open slots, even if Redis lost them. After such a loss other gateways may grant the same number again for up to 5 s. */
  #renew(): void {
    for (const slots of this.#byKey.values()) {
      for (const slot of slots) void this.#hold(slot, Number.MAX_SAFE_INTEGER).catch(() => undefined);
    }
  }
}

function nameOf({ keyId }: Slot): string {
  return `streams:${keyId}`;
}

/** Returns the refusal of a stream beyond the limit of a key or an account: 429 with Retry-After. */
export function tooManyStreams(whose: 'key' | 'account', most: number): ApiError {
  limitReached('streams');
  const message = (seconds: number) =>
    `This ${whose} has ${most} streams, the maximum; close one, or try again in ${seconds} s`;
  return rateLimited(retryMs, message);
}
