import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '../../call.ts';
import type { Contact } from '../../generated/types.ts';
import { eachOf } from '../../pages.ts';
import type { Command, CommandCall } from '../command.ts';
import { csvLine } from '../contacts/csv.ts';
import { cellsOf, columnsOf } from '../contacts/export-columns.ts';
import { linesOf } from '../contacts/lines.ts';
import { isJsonLines } from '../contacts/rows.ts';
import { pageLimit } from '../entries.ts';
import { FileError } from '../errors.ts';
import { fileFault } from '../file-faults.ts';
import { sendPatiently } from '../patience.ts';
import { counted, progressOf } from '../progress.ts';
import { jsonLine } from '../text.ts';

/** Write lines in pieces of about this many characters. */
const pieceLength = 65_536;

export const contactsExport: Command = {
  name: 'contacts export',
  parameters: '',
  arity: [0, 0],
  summary: 'Export all contacts as CSV or JSON Lines',
  description: `Newest first. CSV is UTF-8 with the columns id, number, external_id, name, phone, email, tags (separated by commas) and fields.<name> for each custom field. contacts import reads the file unchanged. A cell that a spreadsheet would run as a formula, since it begins with = + - or @, gets an apostrophe in front, which contacts import removes. Phone numbers and other numbers get none. JSON Lines has each contact as the API returns it, and keeps the types of custom fields.`,
  options: [
    {
      name: 'format',
      value: 'format',
      choices: ['csv', 'jsonl'],
      description: "csv or jsonl; default: by the output file's extension, or else csv",
    },
    {
      name: 'output',
      short: 'o',
      value: 'file',
      description: 'The file to write, completely or not at all; default: the standard output',
    },
    { name: 'bom', description: 'Start CSV with a byte order mark, so that Excel reads it as UTF-8' },
  ],
  examples: [
    'contacts export --output people.csv',
    'contacts export --format jsonl > people.jsonl',
    'contacts export --output people.csv --bom',
  ],
  hasEnd: true,
  async run(call) {
    const path = call.value('output');
    const format = call.value('format') ?? (path !== undefined && isJsonLines(path) ? 'jsonl' : 'csv');
    const output = await outputOf(call, path);
    try {
      const count = await (format === 'csv' ? writeCsv(call, output) : writeJsonLines(call, output));
      await output.finish();
      if (path === undefined) return;
      call.print(
        call.isJson ? jsonLine({ contacts: count, file: path }) : `Exported ${counted(count)} contacts to ${path}`,
      );
    } finally {
      await output.discard();
    }
  },
};

/** The destination of an export. */
interface Output {
  write(text: string): Promise<void>;
  finish(): Promise<void>;
  /** Deletes the draft if `finish` was not called. */
  discard(): Promise<void>;
}

async function outputOf(call: CommandCall, path: string | undefined): Promise<Output> {
  if (path === undefined) {
    return { write: call.write, finish: () => Promise.resolve(), discard: () => Promise.resolve() };
  }
  const draft = `${path}.${process.pid}.draft`;
  const file = await opened(draft);
  return {
    write: async (text) => void (await file.appendFile(text)),
    async finish() {
      await file.close();
      await rename(draft, path);
    },
    async discard() {
      await file.close();
      await rm(draft, { force: true });
    },
  };
}

async function opened(path: string): Promise<FileHandle> {
  try {
    // Only the owner may read contacts.
    return await open(path, 'w', 0o600);
  } catch (error) {
    throw new FileError(`--output: ${path} cannot be written: ${fileFault(error)}`);
  }
}

/** Writes one contact per line. Returns the number of contacts. */
async function writeJsonLines(call: CommandCall, output: Pick<Output, 'write'>): Promise<number> {
  return await writeLines(
    output,
    mapped(contactsOf(call), (contact) => `${JSON.stringify(contact)}\n`),
  );
}

/** Writes CSV. A temporary file holds the contacts until all columns are known, since any contact may have new custom fields. */
async function writeCsv(call: CommandCall, output: Output): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'customer-platform-export-'));
  const path = join(folder, 'contacts.jsonl');
  try {
    const fields = new Set<string>();
    const kept = await opened(path);
    const lines = mapped(contactsOf(call), (contact) => {
      for (const name of Object.keys(contact.fields)) fields.add(name);
      return `${JSON.stringify(contact)}\n`;
    });
    await writeLines({ write: async (text) => void (await kept.appendFile(text)) }, lines).finally(() => kept.close());
    const names = [...fields].sort();
    await output.write(`${call.isSet('bom') ? '\ufeff' : ''}${csvLine(columnsOf(names))}\r\n`);
    const rows = mapped(linesOf(createReadStream(path, 'utf8')), (line) => {
      return `${csvLine(cellsOf(JSON.parse(line) as Contact, names))}\r\n`;
    });
    return await writeLines(output, rows);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Yields all contacts, page by page. */
async function* contactsOf(call: CommandCall): AsyncGenerator<Contact, void, undefined> {
  const progress = progressOf(call, 'contacts');
  const line = { method: 'GET', path: '/v1/cdp/contacts' };
  let count = 0;
  const list = (page: object) =>
    sendPatiently<Page<Contact>>(call, line, { query: { limit: pageLimit, ...page } }, (reason) =>
      progress.show(count, reason),
    );
  try {
    for await (const contact of eachOf(list)) {
      yield contact;
      if (++count % pageLimit === 0) progress.show(count);
    }
  } finally {
    progress.end();
  }
}

async function* mapped<From>(values: AsyncIterable<From>, map: (value: From) => string): AsyncGenerator<string> {
  for await (const value of values) yield map(value);
}

/** Writes lines in larger pieces. Returns the number of lines. */
async function writeLines({ write }: Pick<Output, 'write'>, lines: AsyncIterable<string>): Promise<number> {
  let [count, piece] = [0, ''];
  for await (const line of lines) {
    count++;
    piece += line;
    if (piece.length < pieceLength) continue;
    await write(piece);
    piece = '';
  }
  await write(piece);
  return count;
}
