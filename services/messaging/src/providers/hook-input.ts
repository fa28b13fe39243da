import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import { parseJson } from './post-result.ts';

/** Maximum length of a text, longer ones are cut: an event with one must fit into a message on the bus. */
const mostCharacters = 100_000;

/** Returns a provider's text in a form that can be stored: at most `most` characters, without NUL, well-formed. */
export function storable(text: string, most = mostCharacters): string {
  return firstCodePoints(text.replaceAll('\0', '').toWellFormed(), most);
}

/** Returns whether two texts are equal, in constant time. */
export function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(first!, second!);
}

/** Returns the error for a hook request with a wrong signature: 401 invalid_key. */
export function wrongSignature(): ApiError {
  return new ApiError('invalid_key', 'The signature must be valid for this hook, body and time');
}

/** Returns the JSON object of a hook's body. Throws invalid_request, field body, if it is none. */
export function jsonObjectOf(body: Buffer): Record<string, unknown> {
  const value = parseJson(body.toString('utf8'));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ApiError('invalid_request', 'body must be a JSON object', { field: 'body' });
}
