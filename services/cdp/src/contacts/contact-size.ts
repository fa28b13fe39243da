import { ApiError } from '@customer-platform/contracts/core';
import { jsonBytes } from '@customer-platform/service-kit';
import type { ContactValues } from './contacts.sql.ts';

type Fields = ContactValues['fields'];

/**
 * Limits in bytes of JSON that keep the largest event of a contact below 900 KiB, whatever characters it contains. That event has the tags and fields
 * of two contacts and the former values of one: less than 600 KiB. The 100 tags of 100 characters in a request always fit; only merges combine more.
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

/** Returns the kept contact's fields, plus the merged contact's other fields that still fit, in order. */
export function unitedFields(kept: Fields, merged: Fields): Fields {
  const united = Object.entries(kept);
  let bytes = jsonBytes(kept);
  for (const [name, value] of Object.entries(merged)) {
    if (Object.hasOwn(kept, name)) continue;
    // Two more bytes for the colon and the comma.
    const more = jsonBytes(name) + jsonBytes(value) + 2;
    if (bytes + more > maxFieldsBytes) continue;
    united.push([name, value]);
    bytes += more;
  }
  return Object.fromEntries(united);
}

/** Returns the kept contact's tags, plus the merged contact's other tags that still fit, in order. */
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
