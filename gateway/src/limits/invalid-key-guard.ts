import { randomUUID } from 'node:crypto';
import { type Bus, type Logger, LRUCache, meter, withTimeout } from '@customer-platform/service-kit';
import { networkOf } from '../http/client-address.ts';
import { type AddressBlock, BlockedAddresses, isShared, sharedFrom } from './blocked-addresses.ts';
import type { GatewayRedis } from './redis.ts';

/** Invalid keys within the window that block their address, for as long as the window. */
const maxInvalidKeys = 20;
const windowMs = 60_000;
const maxAddresses = 20_000;
/** Interval at which the unchanged address of a key is noted again. */
const renewMs = 5_000;

const gauges = {
  'gateway.addresses.blocked': { description: 'Client addresses that are refused for too many invalid keys.' },
  'gateway.addresses.shared': {
    description:
      'Those of them from which valid keys of several accounts come: a proxy that TRUSTED_PROXIES does not name?',
  },
};

/** A valid key: its owner, and the address and time, on the monotonic clock, of its last request. */
interface SeenKey {
  ownerId: string;
  seenFrom: string;
  seenAtMs: number;
}

/**
 * Blocks addresses that try keys: after 20 invalid ones within a minute everything from there is refused for a minute,
 * or, if valid keys of three or more accounts came from it, before or meanwhile, the invalid ones alone. An IPv6 address counts as its /64.
 * The count is shared through Redis, and kept by this process alone while Redis is unavailable; blocks are announced to
 * all gateways.
 */
export class InvalidKeyGuard {
  readonly #redis: GatewayRedis;
  readonly #log: Logger;
  readonly #blocked: BlockedAddresses;
  readonly #counted = new LRUCache<string, number[]>({ max: maxAddresses });
  /** Times of the last valid key of an account, by address and account, the latest few per address. */
  readonly #seen = new LRUCache<string, Map<string, number>>({ max: maxAddresses });

  constructor(redis: GatewayRedis, bus: Bus, log: Logger, clock: () => Date) {
    this.#redis = redis;
    this.#log = log;
    this.#blocked = new BlockedAddresses(bus, log, clock, {
      accountsAt: (network) => this.#accountsAt(network),
      unblocked: (network) => void this.#counted.delete(network),
    });
    meter.observe(gauges, (observe) => {
      const blocks = this.list();
      observe('gateway.addresses.blocked', blocks.length);
      observe('gateway.addresses.shared', blocks.filter(isShared).length);
    });
  }

  /** Returns the block of an address, undefined if it is not blocked. */
  blockOf(address: string): AddressBlock | undefined {
    return this.#blocked.isEmpty ? undefined : this.#blocked.find(networkOf(address));
  }

  /** Notes that a valid key came from an address. */
  note(record: SeenKey, address: string): void {
    const nowMs = performance.now();
    if (record.seenFrom === address && nowMs - record.seenAtMs < renewMs) return;
    record.seenFrom = address;
    record.seenAtMs = nowMs;
    const network = networkOf(address);
    const accounts = this.#seen.get(network) ?? new Map<string, number>();
    accounts.delete(record.ownerId);
    this.#seen.set(network, new Map([...accounts, [record.ownerId, nowMs] as const].slice(-sharedFrom)));
  }

  /** Notes that a valid key came from an address that is blocked; if that is blocked again, it is known there too. */
  noteAtBlock(block: AddressBlock, record: SeenKey, address: string): void {
    this.note(record, address);
    this.#blocked.addAccount(block, record.ownerId);
  }

  /** Counts one invalid key of an address; blocks the address at the twentieth. Never throws. */
  async count(address: string): Promise<void> {
    const network = networkOf(address);
    const count = await this.#countOf(network);
    if (count < maxInvalidKeys) return;
    const block = this.#blocked.add(network, count, windowMs);
    const shared = isShared(block);
    this.#log.warn(
      { address: network, shared },
      shared
        ? 'too many invalid keys from a shared address, refused for a minute; if it is your proxy, add it to TRUSTED_PROXIES'
        : 'too many invalid keys, address blocked for a minute; if it is your proxy, add it to TRUSTED_PROXIES',
    );
  }

  /** Returns the blocks, those that end last first. */
  list(): AddressBlock[] {
    return this.#blocked.list();
  }

  /** Unblocks an address on all gateways and resets its count; returns false if it is not blocked. */
  async unblock(address: string): Promise<boolean> {
    const network = networkOf(address.replace(/\/64$/, ''));
    if (!this.#blocked.remove(network)) return false;
    try {
      await withTimeout(this.#redis.timeoutMs, this.#redis.del(countKey(network)));
    } catch (error) {
      this.#log.warn({ err: error }, 'Redis does not respond; invalid keys since the block still count');
    }
    return true;
  }

  async #countOf(network: string): Promise<number> {
    try {
      const count = this.#redis.countWithin(countKey(network), windowMs * 1_000, maxInvalidKeys, randomUUID());
      return await withTimeout(this.#redis.timeoutMs, count);
    } catch (error) {
      this.#log.debug({ err: error }, 'Redis does not respond; this process counts invalid keys alone');
      return this.#countHere(network);
    }
  }

  #countHere(network: string): number {
    const nowMs = performance.now();
    const recent = (this.#counted.get(network) ?? []).filter((atMs) => atMs > nowMs - windowMs);
    recent.push(nowMs);
    if (recent.length < maxInvalidKeys) this.#counted.set(network, recent);
    else this.#counted.delete(network);
    return recent.length;
  }

  #accountsAt(network: string): string[] {
    const sinceMs = performance.now() - windowMs - renewMs;
    return [...(this.#seen.get(network) ?? [])].flatMap(([account, atMs]) => (atMs > sinceMs ? [account] : []));
  }
}

function countKey(network: string): string {
  return `invalid:${network}`;
}
