import type { ContactsWritten, updateContact } from '@customer-platform/contracts/cdp';
import { type AccountContext, ApiError, type Body, type ListEntry } from '@customer-platform/contracts/core';
import { numbersOfLine } from '@customer-platform/phone-number';
import { jsonBytes } from '@customer-platform/service-kit';
import { applyValues, changedContact, newValues, parsePhone, valuesOf } from './contact.ts';
import type { ContactRow, ContactValues } from './contacts.sql.ts';
import { type Lookup, type Match, type MatchColumn, matchColumns } from './matches.sql.ts';

type Given = Body<typeof updateContact>;
type Refusal = NonNullable<ContactsWritten['data'][number]['error']>;

/** An entry as it was read: the values that it is found by, by their columns, or what is wrong with it. */
export type ReadEntry =
  | { given: Given; keys: Record<MatchColumn, string[]>; refusal?: never }
  | { given?: never; keys?: never; refusal: Refusal };

/** A contact that entries write. */
export interface WrittenContact {
  /** As it was; undefined: it is created. */
  before: ContactRow | undefined;
  /** As the entries leave it. */
  values: ContactValues;
  /** Orders contacts by age: an id, those that are created after all others. */
  age: string;
}

/** What an entry came to. */
export type Outcome =
  | { outcome: 'created'; contact: WrittenContact; values: ContactValues }
  | { outcome: 'updated'; contact: WrittenContact; values: ContactValues; previous: Partial<ContactValues> }
  | { outcome: 'unchanged'; contact: WrittenContact }
  | { outcome: 'failed'; refusal: Refusal };

/** Most bytes of tags and fields that a batch reads, and that its changes have: each has an event, and all of them are in memory at once. */
export const maxBytes = 8_388_608;

/** Most contacts that a batch looks at. What it looks for at first are fewer: each of its entries has four values at most. */
export const maxContacts = 5_000;

/** The refusal of a batch beyond either. */
export function tooLarge(): ApiError {
  const message =
    `contacts must be fewer: they look at more than ${maxContacts} contacts, ` +
    `or the tags and fields that they read and change have more than ${maxBytes} bytes together`;
  return new ApiError('invalid_request', message, { field: 'contacts' });
}

/** Reads the entries of a batch. */
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

/** Returns what `read` does, or the refusal that it throws, with the place of its entry; throws that of the whole batch. */
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

/** Returns all that is looked for, each once. */
export function lookupsOf(entries: readonly ReadEntry[]): Lookup[] {
  const lookups = entries.flatMap(({ keys }) =>
    matchColumns.flatMap((column) => (keys?.[column] ?? []).map((value) => ({ column, value }))),
  );
  return [...new Map(lookups.map((lookup) => [keyOf(lookup), lookup])).values()];
}

/**
 * Applies entries in their order to the contacts that they match, those included that entries before them created or changed. Returns what each came
 * to; undefined where more than `most` contacts of each value have to be known first: entries took one from all that are. As many as there are
 * entries are always enough: each takes a value from one contact at most, and those before an entry are fewer. Pure.
 * Throws invalid_request, field contacts, where the changes are too large together.
 */
export function applyEntries(
  entries: readonly ReadEntry[],
  account: AccountContext,
  { matches, rows, most }: { matches: readonly Match[]; rows: readonly ContactRow[]; most: number },
): Outcome[] | undefined {
  const contacts = new Map(rows.map((row) => [row.id, toWritten(row)]));
  const known = new Map(matches.map((match) => [keyOf(match), match]));
  let isEnough = true;
  /** Contacts that have a value, or had it before the entries so far. */
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
