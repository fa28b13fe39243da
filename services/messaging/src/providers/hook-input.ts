import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import { parseJson } from './post-result.ts';

/** Longer texts are cut: an event with one has to fit into a message of the bus. */
const mostCharacters = 100_000;

/** A text of a provider as it can be stored: at most `most` characters, without NUL, well-formed. */
export function storable(text: string, most = mostCharacters): string {
  return firstCodePoints(text.replaceAll('\0', '').toWellFormed(), most);
}

/** Whether two texts are the same, in a time that does not tell how much of them is. */
export function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(first!, second!);
}

/** What a request to a hook is refused with whose signature is not right: 401 invalid_key. */
export function wrongSignature(): ApiError {
  return new ApiError('invalid_key', 'The signature must be valid for this hook, body and time');
}

/** The JSON object of a hook's body. Throws invalid_request, field body, where it is none. */
export function jsonObjectOf(body: Buffer): Record<string, unknown> {
  const value = parseJson(body.toString('utf8'));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ApiError('invalid_request', 'body must be a JSON object', { field: 'body' });
}
