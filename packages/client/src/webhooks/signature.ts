/** A request's raw body, as a string or bytes. */
export type WebhookBody = string | Uint8Array | ArrayBuffer;

/** Returns a delivery's 32-byte signature, by Standard Webhooks. Throws TypeError for a malformed secret, or a body that is not a string or bytes. */
export async function signatureOf(
  secret: string,
  id: string,
  timestamp: string,
  body: WebhookBody,
): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', keyOf(secret), algorithm, false, ['sign']);
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const bytes = bytesOf(body);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
}

/**
 * Returns a delivery's headers as the platform sends them, to test your receiver. `id` is the event's id. `timestamp` is the time of the
 * attempt. Default: now.
 */
export async function signWebhook(
  body: WebhookBody,
  secret: string,
  { id, timestamp = new Date() }: { id: string; timestamp?: Date },
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const seconds = String(Math.floor(timestamp.getTime() / 1000));
  const signature = btoa(String.fromCharCode(...(await signatureOf(secret, id, seconds, body))));
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}

/** Compares bytes in constant time. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index++) difference |= one[index]! ^ other[index]!;
  return difference === 0;
}

/** Returns the bytes of a base64 string; undefined if it is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = fromBase64(secret.replace(/^whsec_/, ''));
  // The message must not contain the secret, since it may be logged.
  if (!key || key.length === 0)
    throw new TypeError("A secret must be whsec_ and base64, as the endpoint's creation returned it");
  return key;
}

function bytesOf(body: WebhookBody): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body)) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  // Usually a framework has parsed the body, so the signed bytes are lost.
  throw new TypeError("body must be the request's raw body as a string or bytes, not parsed");
}
