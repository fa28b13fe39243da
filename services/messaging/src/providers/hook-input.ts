import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import type { InboundType } from '@customer-platform/contracts/messaging';
import { toE164 } from '@customer-platform/phone-number';
import { exceededBound } from '@customer-platform/service-kit';
import { parseJson } from './post-result.ts';

/** Maximum length of a text, to which longer ones are cut. An event with one must fit into a bus message. */
const mostCharacters = 100_000;

/** Makes a provider's text storable: at most `most` characters, without NUL, well-formed Unicode. */
export function storable(text: string, most = mostCharacters): string {
  return firstCodePoints(text.replaceAll('\0', '').toWellFormed(), most);
}

/** Returns a number with its country code in E.164, by its country's numbering plan. Returns any other text unchanged. */
export function inE164(sender: string): string {
  return toE164(sender, '') ?? sender;
}

/** Meta's id of a WhatsApp user: a country, a dot, letters and digits. It is the same in every message to one business. */
export const whatsappUserId = /^[A-Z]{2}\.[A-Za-z0-9.]{1,160}$/;

/** Returns the inbound message type for a file of this MIME type. */
export function typeOfFile(mimeType: string): InboundType {
  const [kind = '', rest = ''] = mimeType.toLowerCase().split('/');
  if (kind === 'image' || kind === 'video' || kind === 'audio') return kind;
  return kind === 'text' && /^(x-)?vcard\b/.test(rest) ? 'contacts' : 'document';
}

/** Compares two strings in constant time. */
export function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(first!, second!);
}

/** Returns the error for a hook request with a wrong signature: 401 `invalid_key`. */
export function wrongSignature(): ApiError {
  return new ApiError('invalid_key', 'The signature must be valid for this hook, body and time');
}

/** Maximum number of values in a hook's body, far more than providers send. Parsing blocks the event loop for time proportional to their number. */
const mostValues = 50_000;

/** Parses the JSON object of a hook's body. Throws `invalid_request`, field `body`, if it is not an object or has too many values. */
export function jsonObjectOf(body: Buffer): Record<string, unknown> {
  const text = body.toString('utf8');
  // The bound counts commas and brackets, and the first value follows neither.
  if (exceededBound(text, { values: mostValues - 1 }))
    throw new ApiError('invalid_request', `body must hold at most ${mostValues} values`, { field: 'body' });
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ApiError('invalid_request', 'body must be a JSON object', { field: 'body' });
}
