import { createHash } from 'node:crypto';
import type { ContactsWritten, Me } from '../../generated/types.ts';
import type { Command, CommandCall } from '../command.ts';
import { confirm } from '../confirm.ts';
import { runImport } from '../contacts/import-run.ts';
import { type ImportState, interruptedState, newState, stateFileOf } from '../contacts/import-state.ts';
import { fieldTypes, type Mapping, mappingOf } from '../contacts/mapping.ts';
import { previewJson, previewLines } from '../contacts/preview.ts';
import { openRows, type RowFile } from '../contacts/rows.ts';
import { sendPatiently } from '../patience.ts';
import { counted, progressOf } from '../progress.ts';
import { jsonLine, printable } from '../text.ts';

export const contactsImport: Command = {
  name: 'contacts import',
  parameters: '<file>',
  arity: [1, 1],
  summary: 'Import contacts from CSV or JSON Lines',
  description: `Each row creates a contact, or updates the oldest contact with its external_id, else its email, else its phone. Fields are external_id, name, phone, email, tags (separated by commas or semicolons) and fields.<name>. Without --map, every column must be named like a field, in any case, as in an export. Tags replace all tags of an existing contact.
The file is CSV in UTF-8, UTF-16 or windows-1252, or JSON Lines if its name ends in .jsonl or .ndjson. The whole file is checked before anything is sent.
Failed rows of people.csv go to people.failed.csv, each with its error. Each import replaces that file. After Ctrl-C or an error, repeat the command to continue: people.csv.import.json keeps the position until the import is done. Exit code 0 means that every row was written, 1 that some rows were not.`,
  options: [
    {
      name: 'map',
      value: 'field=column',
      isMultiple: true,
      description: 'A field and its column; several separated by commas, or in repeated flags',
    },
    {
      name: 'type',
      value: 'field=type',
      isMultiple: true,
      description: `The type of a custom field: fields.<name>=${fieldTypes.join('|')}; default: text`,
    },
    { name: 'tag', value: 'tag', isMultiple: true, description: 'A tag for every contact; may be repeated' },
    { name: 'clear-empty', description: 'An empty cell clears the value; default: an empty cell keeps it' },
    { name: 'dry-run', description: 'Check the file and show a preview, but send nothing' },
    { name: 'yes', short: 'y', description: 'Do not ask before the first request' },
    { name: 'restart', description: 'Start over instead of continuing an interrupted import' },
  ],
  examples: [
    'contacts import people.csv --dry-run',
    'contacts import people.csv --map name=Name,email=E-Mail --map fields.city=City --tag newsletter',
    'contacts import people.csv --map external_id=No,name=Name,fields.points=Points --type fields.points=number --yes',
    'contacts import people.jsonl --yes --json',
  ],
  hasEnd: true,
  async run(call) {
    const [path] = call.positionals as [string];
    const file = await openRows(path);
    const mapping = mappingOf(file, {
      map: call.values('map'),
      types: call.values('type'),
      tags: call.values('tag'),
      clearsEmpty: call.isSet('clear-empty'),
    });
    if (call.isSet('dry-run')) return await showPreview(call, file, mapping);
    for (const line of await previewLines(file, mapping)) call.note(line);
    const me = await call.send<Me>({ method: 'GET', path: '/v1/me' });
    const identity = identityOf(file, mapping, me);
    const stateFile = stateFileOf(path);
    const interrupted = call.isSet('restart') ? undefined : await interruptedState(stateFile, identity);
    const state = interrupted ?? newState(identity);
    if (!(await isWanted(call, file, state, me))) return call.setIncomplete();
    const progress = progressOf(call, 'rows', file.rowCount, state.rows);
    const failed = () => (state.failed > 0 ? `${counted(state.failed)} failed` : '');
    const line = { method: 'POST', path: '/v1/cdp/contacts/batch' };
    try {
      await runImport({
        file,
        mapping,
        state,
        stateFile,
        write: (contacts, idempotencyKey) =>
          sendPatiently<ContactsWritten>(call, line, { body: { contacts }, idempotencyKey }, (reason) =>
            progress.show(state.rows, reason),
          ),
        onProgress: () => progress.show(state.rows, failed()),
      });
    } catch (error) {
      progress.end();
      const place = `after ${counted(state.rows)} of ${counted(file.rowCount)} rows: repeat the command to continue`;
      call.note(`${call.signal.aborted ? 'Interrupted' : 'Stopped'} ${place}`);
      if (call.signal.aborted && call.isJson) call.print(jsonLine({ interrupted: true, ...resultOf(file, state) }));
      throw error;
    }
    progress.end();
    showResult(call, file, state);
  },
};

async function showPreview(call: CommandCall, file: RowFile, mapping: Mapping): Promise<void> {
  if (call.isJson) return call.print(jsonLine(await previewJson(file, mapping)));
  for (const line of await previewLines(file, mapping)) call.print(line);
}

/** Returns an import's identity. An import continues only with the same rows, mapping and account. */
function identityOf({ hash }: RowFile, { assignments, tags, clearsEmpty }: Mapping, { account, mode }: Me): string {
  const what = JSON.stringify([hash, assignments, tags, clearsEmpty, account.id, mode]);
  return createHash('sha256').update(what).digest('hex');
}

async function isWanted(call: CommandCall, file: RowFile, state: ImportState, { account, mode }: Me): Promise<boolean> {
  const into = `into ${printable(account.name)} (${mode})`;
  if (state.rows > 0) call.note(`Continuing after ${counted(state.rows)} of ${counted(file.rowCount)} rows`);
  const isAsked = call.input.isTTY && !call.isJson && !call.isSet('yes');
  if (!isAsked || (await confirm(call, `Import ${counted(file.rowCount - state.rows)} rows ${into}?`))) return true;
  call.note('Nothing was sent');
  return false;
}

function resultOf({ rowCount, refused }: RowFile, { rows, created, updated, unchanged, failed }: ImportState) {
  const failedFile = failed > 0 ? refused.path : null;
  return { rows: rowCount, done: rows, created, updated, unchanged, failed, failed_file: failedFile };
}

function showResult(call: CommandCall, file: RowFile, state: ImportState): void {
  const result = resultOf(file, state);
  if (call.isJson) call.print(jsonLine(result));
  else {
    const counts = (['created', 'updated', 'unchanged', 'failed'] as const).map(
      (each) => `${counted(result[each])} ${each}`,
    );
    call.print(`${counted(result.rows)} rows: ${counts.join(', ')}`);
    if (result.failed_file) call.print(`Failed rows are in ${result.failed_file}, each with its error`);
  }
  if (result.failed > 0) call.setIncomplete();
}
