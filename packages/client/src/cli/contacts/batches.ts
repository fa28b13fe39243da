import type { ImportState } from './import-state.ts';
import { contactOf, type Mapping } from './mapping.ts';
import type { Row } from './rows.ts';

/** A row, with the contact that it says or why it says none. */
export interface BatchEntry {
  row: Row;
  contact?: Record<string, unknown>;
  fault?: string;
}

/** Rows that are done together: one request has their contacts. */
export interface Batch {
  /** Rows of the file before them. */
  offset: number;
  entries: readonly BatchEntry[];
}

/** Most bytes of the contacts of a batch: a request has at most 1 MiB and 100,000 values, of which the shortest has five bytes. */
const maxBytes = 480 * 1024;

/** Yields the rows that a state has not done yet in batches. From the same state on they are the same each time. */
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
