import type { ImportState } from './import-state.ts';
import { contactOf, type Mapping } from './mapping.ts';
import type { Row } from './rows.ts';

/** A row with its contact, or with the reason why it has none. */
export interface BatchEntry {
  row: Row;
  contact?: Record<string, unknown>;
  fault?: string;
}

/** Rows whose contacts are sent in one request. */
export interface Batch {
  /** Number of rows in the file before the batch. */
  offset: number;
  entries: readonly BatchEntry[];
}

/** Most bytes of a batch's contacts. The API accepts at most 1 MiB and 100,000 values, of at least five bytes each, per request. */
const maxBytes = 480 * 1024;

/** Yields the rows that are not yet imported, in batches. The same state always yields the same batches. */
export async function* batchesOf(
  rows: AsyncIterable<Row>,
  mapping: Mapping,
  { rows: done, batch_rows: maxRows }: Pick<ImportState, 'rows' | 'batch_rows'>,
): AsyncGenerator<Batch, void, undefined> {
  let [offset, place, bytes] = [done, 0, 0];
  let entries: BatchEntry[] = [];
  for await (const row of rows) {
    if (place++ < done) continue;
    const { entry, size } = entryOf(row, mapping);
    if (entries.length === maxRows || bytes + size > maxBytes) {
      yield { offset, entries };
      offset += entries.length;
      [entries, bytes] = [[], 0];
    }
    entries.push(entry);
    bytes += size;
  }
  if (entries.length > 0) yield { offset, entries };
}

function entryOf(row: Row, mapping: Mapping): { entry: BatchEntry; size: number } {
  const { contact, fault } = contactOf(mapping, row);
  if (fault !== undefined) return { entry: { row, fault }, size: 0 };
  const size = Buffer.byteLength(JSON.stringify(contact)) + 1;
  if (size <= maxBytes) return { entry: { row, contact }, size };
  return { entry: { row, fault: `the contact has more than ${maxBytes} bytes as JSON` }, size: 0 };
}
