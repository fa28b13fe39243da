import type { Sql } from '@customer-platform/service-kit';
import type { KeyRecord } from './key-record.ts';
import { saveUses } from './keys.sql.ts';

/** Collects uses of keys and writes them in batches: `last_used_at` is accurate to 60 s. */
export class UseLog {
  #unsaved: KeyRecord[] = [];

  /** Notes a use; costs two assignments. */
  note(record: KeyRecord, nowMs: number): void {
    record.usedAtMs = nowMs;
    if (record.isUseUnsaved) return;
    record.isUseUnsaved = true;
    this.#unsaved.push(record);
  }

  /** Writes the uses noted since the last call; on failure they are kept for the next. */
  async save(sql: Sql): Promise<void> {
    const records = this.#unsaved;
    if (records.length === 0) return;
    this.#unsaved = [];
    for (const record of records) record.isUseUnsaved = false;
    try {
      // Each read of a key makes a new record: of two of one key the later use counts.
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
