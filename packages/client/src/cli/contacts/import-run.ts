import { appendFile, rm, truncate } from 'node:fs/promises';
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
 * is in both files: interrupted before, it is sent again under the same key. Throws what `write` throws; the state says how far it is.
 */
export async function runImport({ file, mapping, state, stateFile, write, onProgress }: Import): Promise<void> {
  await keepRefused(file, state);
  await stateFile.write(state);
  for await (const batch of batchesOf(file.rows(), mapping, state.rows)) {
    const contacts = batch.entries.flatMap(({ contact }) => (contact ? [contact] : []));
    const written = contacts.length > 0 ? await write(contacts, `${state.run}-${batch.offset}`) : nothing;
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

const nothing: ContactsWritten = { created: 0, updated: 0, unchanged: 0, failed: 0, data: [] };

type Refused = Required<Pick<BatchEntry, 'row' | 'fault'>>;

/** Returns the rows that said no contact, and those whose contact was refused, in their order. */
function refusedOf({ entries }: Batch, outcomes: readonly ContactOutcome[]): Refused[] {
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

/** Keeps of the file of refused rows those that belong to the state: what an interrupted run wrote beyond is written again. */
async function keepRefused({ refused: { path } }: RowFile, state: ImportState): Promise<void> {
  if (state.refused_bytes > 0) await truncate(path, state.refused_bytes);
  else await rm(path, { force: true });
}

async function appendRefused({ refused }: RowFile, state: ImportState, rows: readonly Refused[]): Promise<void> {
  const lines = rows.map(({ row, fault }) => refused.lineOf(row, fault));
  if (state.refused_bytes === 0 && refused.head !== '') lines.unshift(refused.head);
  const text = `${lines.join('\n')}\n`;
  await appendFile(refused.path, text);
  state.refused_bytes += Buffer.byteLength(text);
}
