import type { Contact, ContactSummary, updateContact } from '@customer-platform/contracts/cdp';
import { type AccountContext, ApiError, type Body } from '@customer-platform/contracts/core';
import { numbersOfLine, toE164 } from '@customer-platform/phone-number';
import { applyPatch, changedValues, formatInstant, isSameValue, mergedByKey } from '@customer-platform/service-kit';
import { checkSize, maxFieldsBytes } from './contact-size.ts';
import type { ContactRow, ContactValues } from './contacts.sql.ts';

/** Returns a contact as the API shows it. */
export function toContact(row: ContactRow, account: Pick<AccountContext, 'timezone'>): Contact {
  const { id, number, external_id, name, phone, email, tags, fields, merged_into } = row;
  return {
    id,
    number,
    external_id,
    name,
    phone,
    email,
    tags,
    fields,
    merged_into,
    created_at: formatInstant(row.created_at, account.timezone),
    updated_at: formatInstant(row.updated_at, account.timezone),
  };
}

/** Returns a contact as other modules show it. */
export function toSummary(row: Pick<ContactRow, 'id' | 'name' | 'phone'>): ContactSummary {
  return { id: row.id, name: row.name, phone: row.phone ?? '' };
}

/**
 * Returns a phone number in E.164, or null for "". Accepts the usual spellings; without a country code it belongs to the account's country. Throws
 * invalid_request with field `phone`.
 */
export function parsePhone(phone: string, account: Pick<AccountContext, 'country'>): string | null {
  if (phone.trim() === '') return null;
  const number = toE164(phone, account.country);
  if (number !== undefined) return number;
  const rule = `phone must be a phone number, such as +4930901820; one of the account's country, ${account.country}, needs no country code`;
  throw new ApiError('invalid_request', rule, { field: 'phone' });
}

/**
 * Returns the possible stored forms (E.164) of a phone number in a query, or [""] for "". An unescaped "+" arrives as a space. Throws like
 * `parsePhone`.
 */
export function phonesOfQuery(phone: string, account: Pick<AccountContext, 'country'>): string[] {
  const withPlus = /^ [1-9]/.test(phone) ? toE164(`+${phone.slice(1)}`, account.country) : undefined;
  return numbersOfLine(withPlus ?? parsePhone(phone, account) ?? '');
}

const nothing: ContactValues = { external_id: null, name: '', phone: null, email: null, tags: [], fields: {} };

/**
 * Returns a contact's values after applying `given`: "" clears a value; `fields` merges by key and null removes one. Throws invalid_request for an
 * invalid phone number, and for too many or too large fields.
 */
export function applyValues(
  given: Body<typeof updateContact>,
  account: AccountContext,
  before: ContactValues = nothing,
): ContactValues {
  const { name, external_id, phone, email, tags } = given;
  const fields = mergedByKey(before.fields, given.fields);
  // Merged contacts may exceed the limit. Their fields can still be changed and removed.
  if (Object.keys(fields).length > Math.max(100, Object.keys(before.fields).length))
    throw new ApiError('invalid_request', 'fields must have at most 100 keys', { field: 'fields' });
  if (given.fields && !isSameValue(fields, before.fields)) checkSize('fields', fields, maxFieldsBytes);
  return applyPatch(before, {
    external_id: external_id === '' ? null : external_id,
    name,
    phone: phone === undefined ? undefined : parsePhone(phone, account),
    email: email === '' ? null : email,
    tags: tags && [...new Set(tags)],
    fields,
  });
}

/** Returns the values of a new contact. Throws like `applyValues`, and invalid_request with field `name` if nothing identifies it. */
export function newValues(given: Body<typeof updateContact>, account: AccountContext): ContactValues {
  const values = applyValues(given, account);
  if (values.name || values.phone || values.email || values.external_id) return values;
  const rule = 'name must be given, or phone, email or external_id: a contact needs one of them';
  throw new ApiError('invalid_request', rule, { field: 'name' });
}

/** Returns only the values of a contact. */
export function valuesOf({ external_id, name, phone, email, tags, fields }: ContactValues): ContactValues {
  return { external_id, name, phone, email, tags, fields };
}

/** Returns the former values of the changed fields; undefined if none changed. */
export function changedContact(before: ContactValues, after: ContactValues): Partial<ContactValues> | undefined {
  return changedValues(valuesOf(before), after);
}
