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
  /** Where it begins. Changed as rows are done. */
  state: ImportState;
  stateFile: StateFile;
  /** Writes contacts once under a key, however often it is called. */
  write(contacts: readonly unknown[], idempotencyKey: string): Promise<ContactsWritten>;
  /** Called whenever rows are done. */
  onProgress(state: ImportState): void;
}

/**
 * Writes the rows of a file batch by batch, in their order, and those that are refused to the file beside it. A batch counts when its response
 * is in both files: interrupted before, it is sent again under the same key. One that is refused as too large for a request is cut in half, and so
 * are all after it. Throws what else `write` throws; the state says how far it is.
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

/** Writes the contacts of a batch; undefined if they are too many: the contacts that they match may be far larger than they are. */
async function writeBatch({ state, write }: Import, { offset, entries }: Batch): Promise<Written | undefined> {
  const contacts = entries.flatMap(({ contact }) => (contact ? [contact] : []));
  if (contacts.length === 0) return nothing;
  try {
    // A batch that was refused and its first half begin at the same row.
    return await write(contacts, `${state.run}-${offset}-${entries.length}`);
  } catch (error) {
    if (!isPlatformError(error) || error.status !== 400 || error.field !== 'contacts') throw error;
    return contacts.length > 1 ? undefined : { ...nothing, data: [{ index: 0, error }] };
  }
}

type Refused = Required<Pick<BatchEntry, 'row' | 'fault'>>;

/** Returns the rows that said no contact, and those whose contact was refused, in their order. */
function refusedOf({ entries }: Batch, outcomes: Written['data']): Refused[] {
  const errors = new Map(outcomes.map(({ index, error }) => [index, error?.message]));
  let sent = 0;
  return entries.flatMap(({ row, contact, fault }) => {
    // A message names the place in the request, which means nothing here.
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
 * Keeps of the file of refused rows those that belong to the state: what an interrupted run wrote beyond is written again. A file that the user
 * removed or shortened meanwhile is begun anew.
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
  // Contacts are for their owner alone.
  await appendFile(refused.path, text, { mode: 0o600 });
  state.refused_bytes += Buffer.byteLength(text);
}
