import type { Event } from '../generated/types.ts';
import { fromBase64, isSame, signatureOf, type WebhookBody } from './signature.ts';

/** Headers of a request: a Headers object, an object of texts or of lists of texts, or a list of pairs. Names count in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | readonly (readonly [string, string])[];

/** Why a request is no delivery of the platform. */
export type WebhookFault =
  | 'missing_header'
  | 'malformed_header'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'wrong_signature'
  | 'malformed_body';

/** A request that is no delivery of the platform: respond with 400 or 401, and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookFault;

  constructor(reason: WebhookFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Seconds by which a delivery's time may differ from this machine's, before and after. */
const toleranceSeconds = 300;

/**
 * Returns the event of a delivery, after its signature was verified by Standard Webhooks. `body` is the request's body exactly as it was
 * received: parsing it and writing it again changes it. Give both secrets while a rotation's overlap lasts. Rejects with
 * WebhookVerificationError, or with TypeError if a secret is none or the body neither text nor bytes.
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
  // An environment variable that is not set, most often: JavaScript gives undefined, a shell an empty text.
  if (keys.length === 0 || keys.some((key) => !key))
    throw new TypeError(
      'The secret is missing: give the whsec_… that the endpoint was created with, or that listen prints',
    );
  const expected = await Promise.all(keys.map((secret) => signatureOf(secret, id, timestamp, body)));
  const isSigned = expected.some((each) => signatures.some((signature) => isSame(each, signature)));
  if (!isSigned)
    throw new WebhookVerificationError('wrong_signature', 'No signature is of this body with one of the secrets');
  return eventOf(body);
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const values = valuesOf(headers, name);
  if (values.length === 0) throw new WebhookVerificationError('missing_header', `The header ${name} is missing`);
  // A list of signatures may come as several headers; one id or time may not.
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

/** Returns the signatures of a list that spaces separate, or commas where there were several headers. */
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
    // The error below says it.
  }
  throw new WebhookVerificationError('malformed_body', 'The body is signed, but is no event');
}
