import {
  type Database,
  isDatabaseAway,
  LRUCache,
  serviceUnavailable,
  TimedOut,
  withTimeout,
} from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { type KeyRecord, toKeyRecord } from './key-record.ts';
import { findKeyByHash, type KeyWithAccount } from './keys.sql.ts';

/** How long a key that was read is used without asking again, counted from the reading, never from a use. */
const freshMs = 60_000;
/** How long after the database was last seen a known key works on. */
export const outageMs = 60_000;
/** How long it is remembered that there is no such key. */
const absentMs = 1_000;
const readTimeoutMs = 2_000;
const maxKnown = 10_000;
const maxAbsent = 5_000;
/** How often a key is read again because something changed meanwhile, before it is used without being remembered. */
const maxReadings = 3;

interface Entry {
  record: KeyRecord;
  readAtMs: number;
}

/** Keys by the hash they are stored under. Bounded: the one used longest ago gives way. */
export class KeyCache {
  readonly #sql: Database;
  readonly #contextSecret: string;
  readonly #known = new LRUCache<string, Entry>({ max: maxKnown });
  readonly #absent = new LRUCache<string, true>({ max: maxAbsent, ttl: absentMs });
  readonly #reading = new Map<string, Promise<KeyRecord | null>>();
  #changes: ChangeFeed | undefined;

  /** @param contextSecret signs the contexts of the accounts whose keys are read */
  constructor(sql: Database, contextSecret: string) {
    this.#sql = sql;
    this.#contextSecret = contextSecret;
  }

  /** Sets the feed by which readings are told to be out of date. */
  follow(changes: ChangeFeed): void {
    this.#changes = changes;
  }

  /** The record where it is fresh, null where there is no such key; undefined: ask `find`. Never waits. */
  peek(hash: string): KeyRecord | null | undefined {
    const entry = this.#known.get(hash);
    if (entry !== undefined) return performance.now() - entry.readAtMs < freshMs ? entry.record : undefined;
    return this.#absent.has(hash) ? null : undefined;
  }

  /**
   * Reads a key; null where there is none that is valid. While the database is away a key that was known works on for
   * 60 s. Throws 503 service_unavailable for any other then, for a key that cannot be looked up is not a wrong one.
   */
  find(hash: string): Promise<KeyRecord | null> {
    const under = this.#reading.get(hash);
    if (under) return under;
    const reading = this.#find(hash).finally(() => this.#reading.delete(hash));
    this.#reading.set(hash, reading);
    return reading;
  }

  /** Drops what is known of these accounts' keys. */
  forget(accountIds: ReadonlySet<string> | 'all'): void {
    if (accountIds === 'all') this.#known.clear();
    else {
      for (const [hash, { record }] of [...this.#known]) if (accountIds.has(record.ownerId)) this.#known.delete(hash);
    }
  }

  async #find(hash: string): Promise<KeyRecord | null> {
    const changes = this.#changes!;
    if (changes.isDatabaseAway) return this.#knownThroughOutage(hash);
    for (let reading = 1; ; reading++) {
      const { version } = changes;
      let row: KeyWithAccount | undefined;
      try {
        row = await withTimeout(readTimeoutMs, findKeyByHash(this.#sql, Buffer.from(hash, 'base64')));
      } catch (error) {
        if (!isDatabaseAway(error) && !(error instanceof TimedOut)) throw error;
        return this.#knownThroughOutage(hash, error);
      }
      if (version === changes.version) return this.#remember(hash, row);
      if (reading === maxReadings) return row && !row.revoked_at ? toKeyRecord(row, this.#contextSecret) : null;
    }
  }

  #knownThroughOutage(hash: string, cause?: unknown): KeyRecord {
    const entry = this.#known.get(hash);
    const nowMs = performance.now();
    const isUsable = entry && nowMs - entry.readAtMs < freshMs + outageMs;
    if (isUsable && nowMs - this.#changes!.lastGoodMs < outageMs) return entry.record;
    throw serviceUnavailable('API keys cannot be checked right now; try again shortly', cause);
  }

  #remember(hash: string, row: KeyWithAccount | undefined): KeyRecord | null {
    if (!row || row.revoked_at) {
      this.#known.delete(hash);
      this.#absent.set(hash, true);
      return null;
    }
    this.#absent.delete(hash);
    const record = toKeyRecord(row, this.#contextSecret);
    this.#known.set(hash, { record, readAtMs: performance.now() });
    return record;
  }
}
