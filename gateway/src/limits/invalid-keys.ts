import { type Logger, LRUCache, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';
import { networkOf } from '../http/request-head.ts';
import type { GatewayRedis } from './redis.ts';

/** Invalid keys of an address that are refused with 401 within a minute, which begins with the first; more are refused with 429. */
const freeInvalidKeys = 20;
const windowMs = 60_000;
/** Addresses that this process counts while Redis is unavailable. */
const maxAddresses = 20_000;
/** The hour that operators see is kept in buckets of five minutes, each with 5,000 addresses at most. */
const [bucketMs, buckets] = [300_000, 12];

/** A client address (IPv6: its /64) with invalid keys in the last hour. */
export interface AddressWithInvalidKeys {
  address: string;
  invalidKeys: number;
  /** Most within a minute, which begins with the first. */
  mostInAMinute: number;
  lastAtMs: number;
}

/**
 * Counts invalid keys by client address, for all gateways in Redis; while Redis is unavailable each gateway counts alone. Valid keys are not
 * counted, and never refused because of others.
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

  /** Counts an invalid key; returns for how many milliseconds its address has had too many, 0 where it has not. Never throws. */
  async count(address: string): Promise<number> {
    const network = networkOf(address);
    const [count, leftMs] = await this.#countShared(network);
    return count > freeInvalidKeys ? Math.max(leftMs, 1) : 0;
  }

  /** Returns the addresses with invalid keys in the last hour, most first. Throws 503 while Redis is unavailable. */
  async list(): Promise<AddressWithInvalidKeys[]> {
    const current = Math.floor(this.#clock().getTime() / bucketMs);
    const reads = Array.from({ length: buckets }, (_, age) => this.#redis.hgetall(bucketKey(current - age)));
    const read = await withTimeout(this.#redis.timeoutMs, Promise.all(reads)).catch((error: unknown) => {
      throw serviceUnavailable('Redis is unavailable, which counts invalid keys; try again shortly', error);
    });
    const found = new Map<string, AddressWithInvalidKeys>();
    for (const [address, text] of read.flatMap(Object.entries<string>)) {
      // Gateways of the release before write no third number.
      const [count, lastAtMs, mostInAMinute = 0] = text.split(' ').map(Number) as [number, number, number?];
      const known = found.get(address) ?? { address, invalidKeys: 0, mostInAMinute: 0, lastAtMs: 0 };
      known.invalidKeys += count;
      known.mostInAMinute = Math.max(known.mostInAMinute, mostInAMinute);
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

/** In a cluster all names are in one slot: a script's have to be. */
function bucketKey(bucket: number): string {
  return `{invalid}:bucket:${bucket}`;
}
