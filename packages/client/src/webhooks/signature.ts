/** Text or bytes of a request's body. */
export type WebhookBody = string | Uint8Array | ArrayBuffer;

/** Returns a secret's signature of a delivery by Standard Webhooks: 32 bytes. Throws TypeError if the secret is none, or the body neither text nor bytes. */
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
 * Returns the headers of a delivery as the platform sends them, for tests of your own receiver. `id` is the event's id; `timestamp` is the
 * time of the try, default now.
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

/** Returns whether bytes are the same, in a time that tells nothing of where they differ. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index++) difference |= one[index]! ^ other[index]!;
  return difference === 0;
}

/** Returns the bytes of a base64 text; undefined if it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = fromBase64(secret.replace(/^whsec_/, ''));
  // The secret itself belongs into no log.
  if (!key || key.length === 0)
    throw new TypeError('A secret must be whsec_ and base64, as the endpoint was created with');
  return key;
}

function bytesOf(body: WebhookBody): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body)) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  // A framework that has parsed it, which is the usual mistake: nothing signed is left of it.
  throw new TypeError('body must be the body of the request as it was received, as text or bytes: not parsed');
}
