import type { Contact } from '../../generated/types.ts';
import { tagsText, toCell } from './cells.ts';

const plainColumns = ['id', 'number', 'external_id', 'name', 'phone', 'email', 'tags'];

/** Returns the column names of an export with these custom fields. */
export function columnsOf(fieldNames: readonly string[]): string[] {
  return [...plainColumns, ...fieldNames.map((name) => `fields.${name}`)];
}

/** Returns a contact's cells in the order of `columnsOf`. */
export function cellsOf(contact: Contact, fieldNames: readonly string[]): string[] {
  const { id, number, external_id, name, phone, email, tags, fields } = contact;
  const custom = fieldNames.map((each) => (Object.hasOwn(fields, each) ? fields[each] : null));
  const values = [id, number, external_id, name, phone, email, tagsText(tags), ...custom];
  return values.map((value) => toCell(String(value ?? '')));
}
