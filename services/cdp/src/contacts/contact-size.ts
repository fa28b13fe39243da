import { ApiError } from '@customer-platform/contracts/core';
import { jsonBytes } from '@customer-platform/service-kit';
import type { ContactValues } from './contacts.sql.ts';

type Fields = ContactValues['fields'];

/**
 * Limits in bytes of JSON, so that the largest event of a contact stays below 900 KiB, whatever characters it has: one
 * with the tags and fields of three contacts (two contacts, and the former values of one) is below 600 KiB. A request's
 * 100 tags of 100 characters always fit; only merges combine more.
 */
export const maxFieldsBytes = 65_536;
const maxTagsBytes = 131_072;

/** Throws invalid_request with this field if its value exceeds `maxBytes` of JSON. */
export function checkSize(field: 'fields' | 'rules', value: object, maxBytes: number): void {
  const bytes = jsonBytes(value);
  if (bytes <= maxBytes) return;
  throw new ApiError('invalid_request', `${field} must be at most ${maxBytes} bytes as JSON; they are ${bytes}`, {
    field,
  });
}

/** Returns the kept contact's fields and, in order, as many of the merged contact's others as there is room for. */
export function unitedFields(kept: Fields, merged: Fields): Fields {
  const united = Object.entries(kept);
  let bytes = jsonBytes(kept);
  for (const [name, value] of Object.entries(merged)) {
    if (Object.hasOwn(kept, name)) continue;
    // With its colon and a comma.
    const more = jsonBytes(name) + jsonBytes(value) + 2;
    if (bytes + more > maxFieldsBytes) continue;
    united.push([name, value]);
    bytes += more;
  }
  return Object.fromEntries(united);
}

/** Returns the kept contact's tags and, in order, as many of the merged contact's others as there is room for. */
export function unitedTags(kept: readonly string[], merged: readonly string[]): string[] {
  const united = new Set(kept);
  let bytes = jsonBytes(kept);
  for (const tag of merged) {
    const more = jsonBytes(tag) + 1;
    if (united.has(tag) || bytes + more > maxTagsBytes) continue;
    united.add(tag);
    bytes += more;
  }
  return [...united];
}
