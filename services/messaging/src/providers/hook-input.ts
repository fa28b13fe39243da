import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import type { InboundType } from '@customer-platform/contracts/messaging';
import { toE164 } from '@customer-platform/phone-number';
import { brokenBound } from '@customer-platform/service-kit';
import { parseJson } from './post-result.ts';

/** Maximum length of a text, longer ones are cut: an event with one must fit into a message on the bus. */
const mostCharacters = 100_000;

/** Returns a provider's text in a form that can be stored: at most `most` characters, without NUL, well-formed. */
export function storable(text: string, most = mostCharacters): string {
  return firstCodePoints(text.replaceAll('\0', '').toWellFormed(), most);
}

/** Returns a number with its country code in E.164, as its country's plan has it; any other text as it is. */
export function inE164(sender: string): string {
  return toE164(sender, '') ?? sender;
}

/** Meta's id of a person on WhatsApp, the same in each message to one business: a country, a dot, and letters and digits. */
export const whatsappUserId = /^[A-Z]{2}\.[A-Za-z0-9.]{1,160}$/;

/** Returns the type of an inbound message that is a file of this MIME type. */
export function typeOfFile(mimeType: string): InboundType {
  const [kind = '', rest = ''] = mimeType.toLowerCase().split('/');
  if (kind === 'image' || kind === 'video' || kind === 'audio') return kind;
  return kind === 'text' && /^(x-)?vcard\b/.test(rest) ? 'contacts' : 'document';
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
