import { randomUUID } from 'node:crypto';
import type { ApiError } from '@customer-platform/contracts/core';
import { limitReached, withTimeout } from '@customer-platform/service-kit';
import type { LiveGateways } from './live-gateways.ts';
import { rateLimited } from './rate-limiter.ts';
import type { GatewayRedis } from './redis.ts';

/** Streams that a key may have open. */
const maxOfKey = 5;
/** Lifetime of a slot that is not renewed: those of a gateway that died are free again after it. */
const leaseMs = 15_000;
const renewEveryMs = 5_000;
/** Time after which one that was refused may find a slot. */
const retryMs = 5_000;

/** A stream that counts for its key. */
export interface Slot {
  readonly keyId: string;
  readonly id: string;
}

/** Counts the streams of each key, over all gateways by Redis; while Redis does not respond, each gateway grants its part of them. */
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

  /** Takes a slot of a key, to be given back. Throws 429 with Retry-After where the key has none left. Waits no longer than REDIS_TIMEOUT_MS. */
  async take(keyId: string): Promise<Slot> {
    const slot = { keyId, id: randomUUID() };
    const own = this.#byKey.get(keyId) ?? new Set();
    if (own.size >= maxOfKey) throw tooManyStreams('key', maxOfKey);
    // Counted from here on: others that ask meanwhile find it.
    this.#byKey.set(keyId, own.add(slot));
    const isGranted = await this.#hold(slot, maxOfKey).catch(() => this.#isInOwnPart(slot, own));
    if (isGranted) return slot;
    this.giveBack(slot);
    throw tooManyStreams('key', maxOfKey);
  }

  /** Gives a slot back; idempotent. */
  giveBack(slot: Slot): void {
    const own = this.#byKey.get(slot.keyId);
    if (!own?.delete(slot)) return;
    if (own.size === 0) this.#byKey.delete(slot.keyId);
    // Where Redis cannot be told, the slot ends by itself.
    void this.#redis.zrem(nameOf(slot), slot.id).catch(() => undefined);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Returns whether a slot is among this gateway's part of a key's. The oldest are: of many that ask at once all others are still there, and
   * by their number each would be one too many.
   */
  #isInOwnPart(slot: Slot, own: ReadonlySet<Slot>): boolean {
    const part = Math.max(1, Math.floor(maxOfKey / this.#gateways.count()));
    return [...own].slice(0, part).includes(slot);
  }

  async #hold(slot: Slot, most: number): Promise<boolean> {
    const held = this.#redis.holdSlot(nameOf(slot), leaseMs * 1_000, most, slot.id);
    return (await withTimeout(this.#redis.timeoutMs, held)) === 1;
  }

  /** Holds what is open, whatever Redis has forgotten meanwhile: for up to 5 s other gateways may then grant as many again. */
  #renew(): void {
    for (const slots of this.#byKey.values()) {
      for (const slot of slots) void this.#hold(slot, Number.MAX_SAFE_INTEGER).catch(() => undefined);
    }
  }
}

function nameOf({ keyId }: Slot): string {
  return `streams:${keyId}`;
}

/** Returns the refusal of one stream more than a key or an account may have: 429 with Retry-After. */
export function tooManyStreams(whose: 'key' | 'account', most: number): ApiError {
  limitReached('streams');
  const message = (seconds: number) =>
    `This ${whose} has ${most} streams, as many as it may; end one, or try again in ${seconds} s`;
  return rateLimited(retryMs, message);
}
