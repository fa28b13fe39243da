import {
  coalesceByKey,
  type Database,
  isDatabaseUnavailable,
  LRUCache,
  type Sql,
  serviceUnavailable,
  TimedOut,
  withTimeout,
} from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { type KeyRecord, toKeyRecord } from './key-record.ts';
import { findKeyByHash, type KeyWithAccount, saveUses } from './keys.sql.ts';

/** Time that a cached key is used, counted from its read, not from a use. */
const freshMs = 60_000;
/** Time that a known key works after the database was last available. */
const outageMs = 60_000;
/** Time that a missing key is cached as missing. */
const absentMs = 1_000;
const readTimeoutMs = 2_000;
const maxKnown = 10_000;
const maxAbsent = 5_000;
/** Maximum reads of a key that changes during each read. The last read is used without being cached. */
const maxReadings = 3;

/** Cache of keys by hash. It is bounded and evicts the least recently used key. */
export class KeyCache {
  readonly #sql: Database;
  readonly #changes: ChangeFeed;
  readonly #contextSecret: string;
  readonly #known = new LRUCache<string, { record: KeyRecord; readAtMs: number }>({ max: maxKnown });
  readonly #absent = new LRUCache<string, true>({ max: maxAbsent, ttl: absentMs });

  /**
   * @param changes identifies outdated reads
   * @param contextSecret signs the contexts of the accounts whose keys are read
   */
  constructor(sql: Database, changes: ChangeFeed, contextSecret: string) {
    this.#sql = sql;
    this.#changes = changes;
    this.#contextSecret = contextSecret;
  }

  /**
   * Returns a fresh record, null for a missing key, or undefined if `find` must be called. Never waits.
   */
  peek(hash: string): KeyRecord | null | undefined {
    const entry = this.#known.get(hash);
    if (entry !== undefined) return performance.now() - entry.readAtMs < freshMs ? entry.record : undefined;
    return this.#absent.has(hash) ? null : undefined;
  }

  /**
   * Reads a key. Returns null if no valid one exists. While the database is unavailable a known key works for 60 s. Any
   * other key throws 503 service_unavailable, since it may be valid.
   */
  readonly find = coalesceByKey((hash: string) => this.#find(hash));

  /** Drops the cached keys of these accounts. */
  forget(accountIds: ReadonlySet<string> | 'all'): void {
    if (accountIds === 'all') this.#known.clear();
    else {
      for (const [hash, { record }] of [...this.#known]) if (accountIds.has(record.ownerId)) this.#known.delete(hash);
    }
  }

  async #find(hash: string): Promise<KeyRecord | null> {
    const changes = this.#changes;
    if (changes.isDatabaseUnavailable) return this.#knownThroughOutage(hash);
    for (let reading = 1; ; reading++) {
      const { version } = changes;
      let row: KeyWithAccount | undefined;
      try {
        row = await withTimeout(readTimeoutMs, findKeyByHash(this.#sql, Buffer.from(hash, 'base64')));
      } catch (error) {
        if (!isDatabaseUnavailable(error) && !(error instanceof TimedOut)) throw error;
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
    if (isUsable && nowMs - this.#changes.lastGoodMs < outageMs) return entry.record;
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

/** Collects uses of keys and saves them in batches. `last_used_at` is accurate to 60 s. */
export class UseLog {
  #unsaved: KeyRecord[] = [];

  /** Records a use, which costs two assignments. */
  note(record: KeyRecord, nowMs: number): void {
    record.usedAtMs = nowMs;
    if (record.isUseUnsaved) return;
    record.isUseUnsaved = true;
    this.#unsaved.push(record);
  }

  /** Saves the uses recorded since the last call. After a failure the next call saves them. */
  async save(sql: Sql): Promise<void> {
    const records = this.#unsaved;
    if (records.length === 0) return;
    this.#unsaved = [];
    for (const record of records) record.isUseUnsaved = false;
    try {
      // Each read of a key creates a new record. Of two records of one key the later use counts.
      const latest = new Map<string, KeyRecord>();
      for (const record of records) {
        const other = latest.get(record.keyId);
        if (!other || other.usedAtMs < record.usedAtMs) latest.set(record.keyId, record);
      }
      await saveUses(sql, [...latest.values()]);
    } catch (error) {
      for (const record of records) this.note(record, record.usedAtMs);
      throw error;
    }
  }
}
