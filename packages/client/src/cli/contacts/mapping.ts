import { UsageError } from '../errors.ts';
import { fromCell, tagsOfCell } from './cells.ts';
import { likelyField } from './likely-field.ts';
import { errorColumn, type Row, type RowFile } from './rows.ts';

/** Types of a custom field's value. */
export const fieldTypes = ['text', 'number', 'boolean'] as const;
type FieldType = (typeof fieldTypes)[number];

/** A column and the contact field that it fills. */
export interface Assignment {
  column: string;
  /** `name` or `fields.city`. In JSON Lines also `fields`, a whole object. */
  field: string;
  type: FieldType;
}

/** How rows become contacts. */
export interface Mapping {
  assignments: readonly Assignment[];
  /** Columns that are not imported. */
  ignored: readonly string[];
  /** Tags that every contact gets in addition to the tags of its row. */
  tags: readonly string[];
  /** Whether an empty cell clears the contact's value. If not, the value stays. */
  clearsEmpty: boolean;
}

/** A row's contact, or the reason why it has none. */
export type Mapped = { contact: Record<string, unknown>; fault?: never } | { contact?: never; fault: string };

const textFields = ['external_id', 'name', 'phone', 'email'];
const plainFields = [...textFields, 'tags'];
const prefix = 'fields.';
/** Columns of an export or of a file of failed rows that are never imported. */
const otherColumns = ['id', 'number', 'merged_into', 'created_at', 'updated_at', errorColumn, ''];

/**
 * Returns how a file's rows become contacts: by `--map`, or without it by columns that are named like fields. Throws UsageError for an
 * unknown column, an unknown field, or a field that is given twice.
 */
export function mappingOf(
  file: Pick<RowFile, 'path' | 'format' | 'columns'>,
  given: { map: readonly string[]; types: readonly string[]; tags: readonly string[]; clearsEmpty: boolean },
): Mapping {
  const pairs = given.map.length > 0 ? given.map.flatMap(pairsOf) : namedLikeFields(file);
  const types = new Map(given.types.map(typeOf));
  const fields = pairs.map(([field]) => field);
  const twice = fields.find((field, index) => fields.indexOf(field) !== index);
  if (twice !== undefined) throw new UsageError(`--map: the field ${twice} is given twice`);
  const untyped = [...types.keys()].find((field) => !fields.includes(field));
  if (untyped !== undefined) {
    throw new UsageError(`--type ${untyped}: this field is not imported; the imported fields are ${fields.join(', ')}`);
  }
  const assignments = pairs.map(([field, column]) => {
    const isKnown = plainFields.includes(field) || (field.startsWith(prefix) && field.length > prefix.length);
    if (!isKnown && !(file.format === 'jsonl' && field === 'fields')) {
      throw new UsageError(`--map: ${JSON.stringify(field)} is not a field of a contact; ${fieldRule}`);
    }
    checkColumn(file, column);
    return { field, column, type: types.get(field) ?? ('text' as const) };
  });
  const imported = new Set(assignments.map(({ column }) => column));
  const ignored = file.columns.filter((column) => column !== '' && !imported.has(column));
  return { assignments, ignored, tags: given.tags, clearsEmpty: given.clearsEmpty };
}

const fieldRule = `the fields are ${plainFields.join(', ')}, and fields.<name> for any other`;

/** Returns the pairs of one --map: `name=Name,email=E-Mail`. A comma that is not followed by another pair belongs to the column's name. */
function pairsOf(text: string): [field: string, column: string][] {
  return text.split(/,(?=[^,=]+=)/).map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--map must be field=column, such as name=Name, not ${JSON.stringify(pair)}`);
    return [
      pair.slice(0, at).trim().normalize(),
      pair
        .slice(at + 1)
        .trim()
        .normalize(),
    ];
  });
}

/** Returns the --map of pairs, without a pair whose field or column an earlier pair has. */
function mapOf(pairs: readonly [field: string, column: string][]): string {
  const once = pairs.filter(
    ([field, column], index) => !pairs.slice(0, index).some((pair) => pair[0] === field || pair[1] === column),
  );
  return once.map(([field, column]) => `${field}=${column}`).join(',');
}

function typeOf(text: string): [field: string, type: FieldType] {
  const at = text.lastIndexOf('=');
  const [field, name] = [text.slice(0, at).trim().normalize(), text.slice(at + 1).trim()];
  const type = fieldTypes.find((each) => each === name);
  if (type && field.startsWith(prefix)) return [field, type];
  throw new UsageError(
    `--type must be fields.<name>=${fieldTypes.join('|')}, such as fields.points=number, not ${JSON.stringify(text)}`,
  );
}

/** Returns the pairs of columns that are named like fields, in any case. Throws UsageError for other columns rather than skip them silently. */
function namedLikeFields({ path, format, columns }: Pick<RowFile, 'path' | 'format' | 'columns'>): [string, string][] {
  const fieldOf = (name: string) => {
    if (name.startsWith(prefix) || (format === 'jsonl' && name === 'fields')) return name;
    return plainFields.find((field) => field === name.trim().toLowerCase());
  };
  const others = columns.filter((name) => fieldOf(name) === undefined && !otherColumns.includes(name));
  if (others.length > 0) {
    const match = others.length === 1 ? 'matches' : 'match';
    const given = columns.filter((name) => !otherColumns.includes(name));
    const pairs = given.map((name): [string, string] => [fieldOf(name) ?? likelyField(name), name]);
    const rule = `Choose the columns with --map, such as --map ${JSON.stringify(mapOf(pairs))}`;
    throw new UsageError(`${path}: ${quoted(others)} ${match} no field of a contact; ${fieldRule}. ${rule}`);
  }
  return columns.flatMap((name): [string, string][] => {
    const field = fieldOf(name);
    return field === undefined ? [] : [[field, name]];
  });
}

function checkColumn({ path, columns }: Pick<RowFile, 'path' | 'columns'>, column: string): void {
  const count = columns.filter((name) => name === column).length;
  if (count > 1) throw new UsageError(`--map: ${path} has ${count} columns ${JSON.stringify(column)}; rename one`);
  if (count === 0) {
    const known = quoted(columns.filter((name) => name !== ''));
    throw new UsageError(`--map: ${path} has no column ${JSON.stringify(column)}; its columns are ${known}`);
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}

/** Returns a row's contact, or the reason why it has none. */
export function contactOf({ assignments, tags, clearsEmpty }: Mapping, row: Row): Mapped {
  if (row.fault !== undefined) return { fault: row.fault };
  const contact: Record<string, unknown> = {};
  const fields: [string, unknown][] = [];
  for (const { column, field, type } of assignments) {
    let value = Object.hasOwn(row.values, column) ? row.values[column] : undefined;
    if (value === '' && row.cells.length > 0) value = clearsEmpty ? null : undefined;
    if (value === undefined) continue;
    // An export puts an apostrophe before a string that a spreadsheet would run as a formula.
    if (typeof value === 'string' && row.cells.length > 0) value = fromCell(value);
    const read = value === null ? { value } : readValue(value, field, type);
    if (read.fault !== undefined) return { fault: read.fault };
    if (field === 'fields' && typeof value === 'object' && value !== null) fields.push(...Object.entries(value));
    else if (field.startsWith(prefix)) fields.push([field.slice(prefix.length), read.value]);
    else contact[field] = read.value;
  }
  if (fields.length > 0) contact.fields = Object.fromEntries(fields);
  const own = contact.tags ?? [];
  if (tags.length > 0 && Array.isArray(own)) contact.tags = [...new Set([...own, ...tags])];
  return { contact };
}

type Read = { value: unknown; fault?: never } | { value?: never; fault: string };

/** Converts a cell or a JSON value to a field's value. The platform validates JSON types. */
function readValue(value: unknown, field: string, type: FieldType): Read {
  const text = typeof value === 'string' ? value : undefined;
  if (field === 'tags') return { value: text === undefined ? value : tagsOfCell(text) };
  if (typeof value === 'number' && textFields.includes(field)) {
    if (Number.isSafeInteger(value)) return { value: String(value) };
    const rule = `only whole numbers up to ${Number.MAX_SAFE_INTEGER} are read exactly`;
    return { fault: `${field} must be a string: ${rule}` };
  }
  if (text === undefined) return { value };
  if (type === 'text') return { value: text };
  const plain = text.trim();
  if (type === 'number') {
    const number = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(plain) ? Number(plain) : Number.NaN;
    if (Number.isFinite(number)) return { value: number };
    return { fault: `${field} must be a number, such as 12.5, not ${JSON.stringify(text)}` };
  }
  if (/^(?:true|false)$/i.test(plain)) return { value: plain.toLowerCase() === 'true' };
  return { fault: `${field} must be true or false, not ${JSON.stringify(text)}` };
}
