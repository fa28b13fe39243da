import { statSync } from 'node:fs';
import { appendFile, rm, truncate } from 'node:fs/promises';
import { isPlatformError } from '../../errors.ts';
import type { ContactOutcome, ContactsWritten } from '../../generated/types.ts';
import { type Batch, type BatchEntry, batchesOf } from './batches.ts';
import type { ImportState, StateFile } from './import-state.ts';
import type { Mapping } from './mapping.ts';
import type { RowFile } from './rows.ts';

/** An import of a file. */
export interface Import {
  file: RowFile;
  mapping: Mapping;
  /** Where the import starts. `runImport` updates it after each batch. */
  state: ImportState;
  stateFile: StateFile;
  /** Writes contacts. Repeated calls with the same key write them once. */
  write(contacts: readonly unknown[], idempotencyKey: string): Promise<ContactsWritten>;
  /** Called after each batch. */
  onProgress(state: ImportState): void;
}

/**
 * Writes the rows of a file in order, in batches, and appends the failed rows to the file of failed rows. A batch counts once both files have
 * its outcome. If the import is interrupted before, it sends the batch again with the same key. When the platform refuses a batch as too
 * large, it and all later batches are halved. Throws any other error of `write`; the state then has the position.
 */
export async function runImport(given: Import): Promise<void> {
  const { file, mapping, state, stateFile, onProgress } = given;
  await keepRefused(file, state);
  await stateFile.write(state);
  for await (const batch of batchesOf(file.rows(), mapping, state)) {
    const written = await writeBatch(given, batch);
    if (!written) {
      state.batch_rows = Math.ceil(batch.entries.length / 2);
      return await runImport(given);
    }
    const refused = refusedOf(batch, written.data);
    if (refused.length > 0) await appendRefused(file, state, refused);
    state.rows += batch.entries.length;
    state.created += written.created;
    state.updated += written.updated;
    state.unchanged += written.unchanged;
    state.failed += refused.length;
    await stateFile.write(state);
    onProgress(state);
  }
  await stateFile.remove();
}

type Written = Omit<ContactsWritten, 'data' | 'failed'> & { data: readonly Pick<ContactOutcome, 'index' | 'error'>[] };

const nothing: Written = { created: 0, updated: 0, unchanged: 0, data: [] };

/** Writes a batch; undefined if it is too large. The platform also counts the matching contacts, which may be far larger. */
async function writeBatch({ state, write }: Import, { offset, entries }: Batch): Promise<Written | undefined> {
  const contacts = entries.flatMap(({ contact }) => (contact ? [contact] : []));
  if (contacts.length === 0) return nothing;
  try {
    // The length is part of the key since a refused batch and its first half begin at the same row.
    return await write(contacts, `${state.run}-${offset}-${entries.length}`);
  } catch (error) {
    if (!isPlatformError(error) || error.status !== 400 || error.field !== 'contacts') throw error;
    return contacts.length > 1 ? undefined : { ...nothing, data: [{ index: 0, error }] };
  }
}

type Refused = Required<Pick<BatchEntry, 'row' | 'fault'>>;

/** Returns the rows that have no valid contact or whose contact the platform refused, in order. */
function refusedOf({ entries }: Batch, outcomes: Written['data']): Refused[] {
  const errors = new Map(outcomes.map(({ index, error }) => [index, error?.message]));
  let sent = 0;
  return entries.flatMap(({ row, contact, fault }) => {
    // Remove the position in the request, which has no meaning in the file.
    const error = contact
      ? errors
          .get(sent++)
          ?.replace(/^contacts\[\d+\]\.?/, '')
          .trim()
      : fault;
    return error === undefined ? [] : [{ row, fault: error }];
  });
}

/**
 * Truncates the file of failed rows to the size that the state records, since rows beyond it are written again. If the user has deleted or
 * shortened the file, a new one starts.
 */
async function keepRefused({ refused: { path } }: RowFile, state: ImportState): Promise<void> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < state.refused_bytes) state.refused_bytes = 0;
  if (state.refused_bytes > 0) await truncate(path, state.refused_bytes);
  else await rm(path, { force: true });
}

async function appendRefused({ refused }: RowFile, state: ImportState, rows: readonly Refused[]): Promise<void> {
  const lines = rows.map(({ row, fault }) => refused.lineOf(row, fault));
  if (state.refused_bytes === 0 && refused.head !== '') lines.unshift(refused.head);
  const text = `${lines.join('\n')}\n`;
  // Only the owner may read contacts.
  await appendFile(refused.path, text, { mode: 0o600 });
  state.refused_bytes += Buffer.byteLength(text);
}
