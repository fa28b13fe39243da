import { counted } from '../progress.ts';
import { columnsOf, printable, shortened } from '../text.ts';
import { type Assignment, contactOf, type Mapping } from './mapping.ts';
import type { Row, RowFile } from './rows.ts';

/** Number of rows in a preview, and the most characters of a value. */
const shownRows = 3;
const shownLength = 30;

/** Returns a preview of an import as lines: the columns, the tags and the first contacts. */
export async function previewLines(file: RowFile, mapping: Mapping): Promise<string[]> {
  const { assignments, ignored, tags } = mapping;
  const columns = [
    ...assignments.map(({ column, field, type }) => [column, `→ ${field}${type === 'text' ? '' : ` (${type})`}`]),
    ...ignored.map((column) => [column, '→ not imported']),
  ];
  const contacts = (await firstRows(file)).map((row) => cellsOf(row, mapping));
  const mapsTags = assignments.some(({ field }) => field === 'tags');
  const hasTags = tags.length > 0 || mapsTags;
  return [
    `${printable(file.path)}: ${counted(file.rowCount)} rows, ${printable(file.description)}`,
    ...indented(columns),
    ...(tags.length > 0
      ? [`Every contact gets the ${tags.length === 1 ? 'tag' : 'tags'} ${printable(tags.join(', '))}`]
      : []),
    ...(hasTags
      ? [
          `${tags.length === 1 && !mapsTags ? 'This tag replaces' : 'These tags replace'} all tags of an existing contact`,
        ]
      : []),
    `The first ${contacts.length === 1 ? 'row' : `${contacts.length} rows`}:`,
    ...indented([assignments.map(({ field }) => field), ...contacts]),
  ];
}

/** Returns the same preview as JSON. */
export async function previewJson(file: RowFile, mapping: Mapping): Promise<unknown> {
  const { path, format, encoding, rowCount } = file;
  const { assignments, ignored, tags } = mapping;
  const sample = (await firstRows(file)).map((row) => contactOf(mapping, row));
  return { file: path, format, encoding, rows: rowCount, columns: assignments, ignored, tags, sample };
}

async function firstRows(file: RowFile): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of file.rows()) if (rows.push(row) === shownRows) break;
  return rows;
}

function cellsOf(row: Row, mapping: Mapping): string[] {
  const { contact, fault } = contactOf(mapping, row);
  if (!contact)
    return mapping.assignments.map((_each, index) => (index === 0 ? shortened(`(${fault})`, 2 * shownLength) : ''));
  return mapping.assignments.map(({ field }) => shortened(textOf(valueIn(contact, field)), shownLength));
}

function valueIn(contact: Record<string, unknown>, field: Assignment['field']): unknown {
  if (!field.startsWith('fields.')) return contact[field];
  return (contact.fields as Record<string, unknown> | undefined)?.[field.slice('fields.'.length)];
}

function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function indented(rows: readonly (readonly string[])[]): string[] {
  return columnsOf(rows).map((line) => `  ${line}`);
}
