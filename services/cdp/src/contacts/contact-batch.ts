import type { ContactsWritten, updateContact } from '@customer-platform/contracts/cdp';
import { type AccountContext, ApiError, type Body, type ListEntry } from '@customer-platform/contracts/core';
import { numbersOfLine } from '@customer-platform/phone-number';
import { jsonBytes } from '@customer-platform/service-kit';
import { applyValues, changedContact, newValues, parsePhone, valuesOf } from './contact.ts';
import type { ContactRow, ContactValues } from './contacts.sql.ts';
import { type Lookup, type Match, type MatchColumn, matchColumns } from './matches.sql.ts';

type Given = Body<typeof updateContact>;
type Refusal = NonNullable<ContactsWritten['data'][number]['error']>;

/** A parsed entry: its values and the keys it is matched by, per column, or the reason it is invalid. */
export type ReadEntry =
  | { given: Given; keys: Record<MatchColumn, string[]>; refusal?: never }
  | { given?: never; keys?: never; refusal: Refusal };

/** A contact that entries of the batch write. */
export interface WrittenContact {
  /** The stored row; undefined if the contact is created. */
  before: ContactRow | undefined;
  /** The values after the entries so far. */
  values: ContactValues;
  /** Sort key by age: the id, or a key after all ids for new contacts. */
  age: string;
}

/** The result of an entry. */
export type Outcome =
  | { outcome: 'created'; contact: WrittenContact; values: ContactValues }
  | { outcome: 'updated'; contact: WrittenContact; values: ContactValues; previous: Partial<ContactValues> }
  | { outcome: 'unchanged'; contact: WrittenContact }
  | { outcome: 'failed'; refusal: Refusal };

/** Most bytes of tags and fields that a batch reads, or that its changes contain. Each change has an event, and all are in memory at once. */
export const maxBytes = 8_388_608;

/** Most contacts that a batch reads. The first pass reads fewer, since an entry has at most four keys. */
export const maxContacts = 5_000;

/** The error for a batch that exceeds either limit. */
export function tooLarge(): ApiError {
  const message =
    `contacts must have fewer entries: they match more than ${maxContacts} contacts, ` +
    `or the tags and fields that they read or change exceed ${maxBytes} bytes in total`;
  return new ApiError('invalid_request', message, { field: 'contacts' });
}

/** Parses the entries of a batch. */
export function readEntries(entries: readonly ListEntry<Given>[], account: AccountContext): ReadEntry[] {
  return entries.map(({ value: given, fault, field }, index) => {
    if (fault !== undefined) return { refusal: { code: 'invalid_request', message: fault, field } };
    return orRefusal(index, () => ({ given, keys: keysOf(given, account) }));
  });
}

function keysOf({ external_id, email, phone }: Given, account: AccountContext): Record<MatchColumn, string[]> {
  const number = phone ? parsePhone(phone, account) : null;
  return {
    external_id: external_id ? [external_id] : [],
    email: email ? [email] : [],
    phone: number === null ? [] : numbersOfLine(number),
  };
}

/** Returns the result of `read`. If it throws an error about one entry, returns that error with the entry's index. */
function orRefusal<Result>(index: number, read: () => Result): Result | { refusal: Refusal } {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError) || error.field === 'contacts') throw error;
    const { code, message, field } = error;
    return { refusal: { code, message: `contacts[${index}].${message}`, field } };
  }
}

const keyOf = ({ column, value }: Lookup) => `${column} ${value}`;

/** Returns all values to look up, without duplicates. */
export function lookupsOf(entries: readonly ReadEntry[]): Lookup[] {
  const lookups = entries.flatMap(({ keys }) =>
    matchColumns.flatMap((column) => (keys?.[column] ?? []).map((value) => ({ column, value }))),
  );
  return [...new Map(lookups.map((lookup) => [keyOf(lookup), lookup])).values()];
}

/**
 * Applies entries in order to the contacts they match, including contacts that earlier entries created or changed. Returns the result of each.
 * Returns undefined if `most` contacts per value are too few, because entries removed a value from all known contacts. As many as there are entries
 * always suffice, since each entry removes a value from at most one contact. Pure. Throws invalid_request with field `contacts` if the changes are
 * too large together.
 */
export function applyEntries(
  entries: readonly ReadEntry[],
  account: AccountContext,
  { matches, rows, most }: { matches: readonly Match[]; rows: readonly ContactRow[]; most: number },
): Outcome[] | undefined {
  const contacts = new Map(rows.map((row) => [row.id, toWritten(row)]));
  const known = new Map(matches.map((match) => [keyOf(match), match]));
  let isEnough = true;
  /** Contacts that have a value now, or had it before an earlier entry changed it. */
  const holders = new Map(matches.map((match) => [keyOf(match), match.ids.map((id) => contacts.get(id)!)]));

  const having = (column: MatchColumn, value: string): WrittenContact[] => {
    const key = keyOf({ column, value });
    const { ids } = known.get(key)!;
    const found = holders.get(key)!.filter((contact) => contact.values[column] === value);
    isEnough &&= ids.length < most || found.some(({ age }) => ids.includes(age));
    return found;
  };
  const oldestWith = (column: MatchColumn, values: readonly string[]): WrittenContact | undefined => {
    const [oldest] = values
      .flatMap((value) => having(column, value))
      .toSorted((one, other) => (one.age < other.age ? -1 : 1));
    if (oldest) return oldest;
    const survivor = values.map((value) => known.get(keyOf({ column, value }))!.survivor).find((id) => id !== null);
    return survivor ? contacts.get(survivor) : undefined;
  };
  const find = (keys: Record<MatchColumn, string[]>): WrittenContact | undefined => {
    for (const column of matchColumns) {
      const found = oldestWith(column, keys[column]);
      if (found) return found;
    }
    return undefined;
  };
  let bytes = 0;
  const write = (contact: WrittenContact, values: ContactValues) => {
    bytes += jsonBytes([values.tags, values.fields]);
    if (bytes > maxBytes) throw tooLarge();
    contact.values = values;
    for (const column of matchColumns) holders.get(keyOf({ column, value: values[column] ?? '' }))?.push(contact);
  };
  const apply = (given: Given, keys: Record<MatchColumn, string[]>, index: number): Outcome => {
    const contact = find(keys);
    if (!contact) {
      const values = newValues(given, account);
      const made = { before: undefined, values, age: `new ${String(index).padStart(3, '0')}` };
      write(made, values);
      return { outcome: 'created', contact: made, values };
    }
    const values = applyValues(given, account, contact.values);
    const previous = changedContact(contact.values, values);
    if (!previous) return { outcome: 'unchanged', contact };
    write(contact, values);
    return { outcome: 'updated', contact, values, previous };
  };
  const outcomes = entries.map(({ given, keys, refusal }, index): Outcome => {
    const applied = refusal ? { refusal } : orRefusal(index, () => apply(given, keys, index));
    return 'outcome' in applied ? applied : { outcome: 'failed', refusal: applied.refusal };
  });
  return isEnough ? outcomes : undefined;
}

function toWritten(row: ContactRow): WrittenContact {
  return { before: row, values: valuesOf(row), age: row.id };
}
