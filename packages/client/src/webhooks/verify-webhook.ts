import type { Event } from '../generated/types.ts';
import { fromBase64, isSame, signatureOf, type WebhookBody } from './signature.ts';

/** A request's headers: a Headers object, an object of strings or string arrays, or an array of pairs. Names are case-insensitive. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | readonly (readonly [string, string])[];

/** Why a request is not a delivery of the platform. */
export type WebhookFault =
  | 'missing_header'
  | 'malformed_header'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'wrong_signature'
  | 'malformed_body';

/** The request is not a delivery of the platform. Respond with 400 or 401, and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookFault;

  constructor(reason: WebhookFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Seconds by which a delivery's time may differ from the local clock, in either direction. */
const toleranceSeconds = 300;

/**
 * Verifies a delivery's signature, by Standard Webhooks, and returns its event. `body` must be the raw body, since parsing and
 * serializing it changes the bytes. During a rotation's overlap, pass both secrets. Rejects with WebhookVerificationError, or with
 * TypeError for a malformed secret or a body that is not a string or bytes.
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: WebhookBody,
  secrets: string | readonly string[],
  { now = new Date() }: { now?: Date } = {},
): Promise<Event> {
  const [id, timestamp] = [headerOf(headers, 'webhook-id'), headerOf(headers, 'webhook-timestamp')];
  const signatures = signaturesIn(headerOf(headers, 'webhook-signature'));
  requireRecent(timestamp, now);
  const keys = typeof secrets === 'string' ? [secrets] : (secrets ?? []);
  // Usually an unset environment variable: undefined in JavaScript, an empty string from a shell.
  if (keys.length === 0 || keys.some((key) => !key))
    throw new TypeError(
      "The secret is missing: pass the whsec_… that the endpoint's creation returned, or that listen prints",
    );
  const expected = await Promise.all(keys.map((secret) => signatureOf(secret, id, timestamp, body)));
  const isSigned = expected.some((each) => signatures.some((signature) => isSame(each, signature)));
  if (!isSigned)
    throw new WebhookVerificationError('wrong_signature', 'No signature matches this body and one of the secrets');
  return eventOf(body);
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const values = valuesOf(headers, name);
  if (values.length === 0) throw new WebhookVerificationError('missing_header', `The header ${name} is missing`);
  // Several signature headers make one list. Several ids or timestamps are malformed.
  return name === 'webhook-signature' ? values.join(' ') : values.join(', ');
}

function valuesOf(headers: WebhookHeaders, name: string): readonly string[] {
  if ('get' in headers && typeof headers.get === 'function') {
    const value = (headers as { get(name: string): string | null }).get(name);
    return value === null || value === undefined ? [] : [value];
  }
  const entries = Array.isArray(headers) ? (headers as [string, string][]) : Object.entries(headers);
  return entries.flatMap(([each, value]) => (each.toLowerCase() === name && value !== undefined ? value : []));
}

/** Returns the signatures of a list, separated by spaces, or by commas if there were several headers. */
function signaturesIn(header: string): Uint8Array[] {
  const listed = header.matchAll(/(?:^|[ ,])v1,([\w+/=]+)/g);
  return [...listed].flatMap(([, signature]) => fromBase64(signature!) ?? []);
}

function requireRecent(timestamp: string, now: Date): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError(
      'malformed_header',
      'The header webhook-timestamp must be a time in Unix seconds',
    );
  }
  const age = Math.floor(now.getTime() / 1000) - Number(timestamp);
  const told = `The delivery was sent ${Math.abs(age)} seconds`;
  if (age > toleranceSeconds) throw new WebhookVerificationError('timestamp_too_old', `${told} ago`);
  if (age < -toleranceSeconds) throw new WebhookVerificationError('timestamp_too_new', `${told} ahead of this clock`);
}

function eventOf(body: WebhookBody): Event {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  try {
    const event = JSON.parse(text) as Event | null;
    if (typeof event?.type === 'string') return event;
  } catch {
    // Reported below.
  }
  throw new WebhookVerificationError('malformed_body', 'The body is signed, but is not an event');
}
