import { randomUUID } from 'node:crypto';
import type { Bus, Logger } from '@customer-platform/service-kit';
import { type GatewayRedis, redisTimeoutMs } from '../rate/redis.ts';
import { within } from '../within.ts';

const topic = 'gateway-blocked';
/** So many invalid keys within the window block the address that sent them, for as long as the window is. */
const maxInvalidKeys = 20;
const windowMs = 60_000;
const maxAddresses = 20_000;

/**
 * Blocks addresses that try keys: after 20 invalid ones within a minute everything from there is refused for a minute.
 * The count is shared through Redis, and kept by this process alone while Redis is away; blocks are told to all
 * gateways.
 */
export class InvalidKeyGuard {
  readonly #redis: GatewayRedis;
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #blockedUntilMs = new Map<string, number>();
  readonly #counted = new Map<string, number[]>();

  constructor(redis: GatewayRedis, bus: Bus, log: Logger) {
    this.#redis = redis;
    this.#bus = bus;
    this.#log = log;
  }

  start(): void {
    this.#bus.listen(topic, (address) => this.#block(address));
  }

  /** For how many more milliseconds an address is blocked; 0 where it is not. */
  blockedForMs(address: string): number {
    if (this.#blockedUntilMs.size === 0) return 0;
    const untilMs = this.#blockedUntilMs.get(address);
    if (untilMs === undefined) return 0;
    const leftMs = untilMs - performance.now();
    if (leftMs > 0) return leftMs;
    this.#blockedUntilMs.delete(address);
    return 0;
  }

  /** Counts one invalid key of an address; blocks the address with the twentieth. Never throws. */
  async count(address: string): Promise<void> {
    if ((await this.#countOf(address)) < maxInvalidKeys) return;
    this.#log.warn({ address }, 'an address tried too many invalid keys and is refused for a minute');
    this.#block(address);
    this.#bus.announce(topic, address);
  }

  async #countOf(address: string): Promise<number> {
    try {
      const [windowUs, limit] = [String(windowMs * 1_000), String(maxInvalidKeys)];
      const count = this.#redis.countWithin(`invalid:${address}`, windowUs, limit, randomUUID());
      return await within(redisTimeoutMs, count);
    } catch (error) {
      this.#log.debug({ err: error }, 'invalid keys are counted by this process alone, for Redis does not answer');
      return this.#countHere(address);
    }
  }

  #countHere(address: string): number {
    const nowMs = performance.now();
    const recent = (this.#counted.get(address) ?? []).filter((atMs) => atMs > nowMs - windowMs);
    recent.push(nowMs);
    this.#counted.delete(address);
    if (recent.length < maxInvalidKeys) remember(this.#counted, address, recent);
    return recent.length;
  }

  #block(address: string): void {
    this.#blockedUntilMs.delete(address);
    remember(this.#blockedUntilMs, address, performance.now() + windowMs);
  }
}

/** Keeps a map bounded: what was set longest ago gives way. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= maxAddresses) map.delete(map.keys().next().value!);
  map.set(key, value);
}
