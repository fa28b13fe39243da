import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import { brokenBound } from '@customer-platform/service-kit';
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

/** Most values in a hook's body: far more than providers send. Each is looked at when it is parsed, and nobody else is served meanwhile. */
const mostValues = 50_000;

/** Returns the JSON object of a hook's body. Throws invalid_request, field body, if it is none or has too many values. */
export function jsonObjectOf(body: Buffer): Record<string, unknown> {
  const text = body.toString('utf8');
  // The first of its values follows no comma or bracket.
  if (brokenBound(text, { values: mostValues - 1 }))
    throw new ApiError('invalid_request', `body must hold at most ${mostValues} values`, { field: 'body' });
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ApiError('invalid_request', 'body must be a JSON object', { field: 'body' });
}
