import { type Logger, LRUCache, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';
import { networkOf } from '../http/request-head.ts';
import type { GatewayRedis } from './redis.ts';

/** Invalid keys of an address that get 401 within a minute, which begins with the first. Further ones get 429. */
const freeInvalidKeys = 20;
const windowMs = 60_000;
/** Maximum addresses that this process counts while Redis is unavailable. */
const maxAddresses = 20_000;
/** The hour that operators see is stored in buckets of five minutes, each with at most 5,000 addresses. */
const [bucketMs, buckets] = [300_000, 12];

/** A client address (IPv6: its /64) with invalid keys in the last hour. */
export interface AddressWithInvalidKeys {
  address: string;
  invalidKeys: number;
  /** Maximum within a minute, which begins with the first. */
  maxPerMinute: number;
  lastAtMs: number;
}

/**
 * Counts invalid keys by client address, for all gateways in Redis. While Redis is unavailable each gateway counts only
 * its own. Valid keys are not counted and never refused because of invalid ones.
 */
export class InvalidKeys {
  readonly #redis: GatewayRedis;
  readonly #log: Logger;
  readonly #clock: () => Date;
  /** By address; each window begins with its first invalid key. */
  readonly #counted = new LRUCache<string, number>({ max: maxAddresses, ttl: windowMs, noUpdateTTL: true });

  constructor(redis: GatewayRedis, log: Logger, clock: () => Date) {
    this.#redis = redis;
    this.#log = log;
    this.#clock = clock;
  }

  /** Counts an invalid key. Returns 0, or the milliseconds left of the window if its address has too many. Never throws. */
  async count(address: string): Promise<number> {
    const network = networkOf(address);
    const [count, leftMs] = await this.#countShared(network);
    return count > freeInvalidKeys ? Math.max(leftMs, 1) : 0;
  }

  /** Returns the addresses with invalid keys in the last hour, highest count first. Throws 503 while Redis is unavailable. */
  async list(): Promise<AddressWithInvalidKeys[]> {
    const current = Math.floor(this.#clock().getTime() / bucketMs);
    const reads = Array.from({ length: buckets }, (_, age) => this.#redis.hgetall(bucketKey(current - age)));
    const read = await withTimeout(this.#redis.timeoutMs, Promise.all(reads)).catch((error: unknown) => {
      throw serviceUnavailable('Invalid keys cannot be listed because Redis is unavailable; try again shortly', error);
    });
    const found = new Map<string, AddressWithInvalidKeys>();
    for (const [address, text] of read.flatMap(Object.entries<string>)) {
      // Gateways of the previous release write no third number.
      const [count, lastAtMs, maxPerMinute = 0] = text.split(' ').map(Number) as [number, number, number?];
      const known = found.get(address) ?? { address, invalidKeys: 0, maxPerMinute: 0, lastAtMs: 0 };
      known.invalidKeys += count;
      known.maxPerMinute = Math.max(known.maxPerMinute, maxPerMinute);
      known.lastAtMs = Math.max(known.lastAtMs, lastAtMs);
      found.set(address, known);
    }
    return [...found.values()].sort((a, b) => b.invalidKeys - a.invalidKeys || (a.address < b.address ? -1 : 1));
  }

  async #countShared(network: string): Promise<[count: number, leftMs: number]> {
    const nowMs = this.#clock().getTime();
    const bucket = bucketKey(Math.floor(nowMs / bucketMs));
    try {
      const counted = this.#redis.countInvalid(`{invalid}:${network}`, bucket, windowMs, network, nowMs);
      return await withTimeout(this.#redis.timeoutMs, counted);
    } catch (error) {
      this.#log.debug({ err: error }, 'Redis does not respond; this process counts invalid keys alone');
      return this.#countHere(network);
    }
  }

  #countHere(network: string): [count: number, leftMs: number] {
    const count = (this.#counted.get(network) ?? 0) + 1;
    this.#counted.set(network, count);
    return [count, this.#counted.getRemainingTTL(network)];
  }
}

/** In a cluster all these names share one slot, because all keys of a script must. */
function bucketKey(bucket: number): string {
  return `{invalid}:bucket:${bucket}`;
}
