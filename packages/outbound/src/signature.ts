import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/**
 * Returns the key of a signing secret, `whsec_` + base64, for any number of signatures. Throws a RangeError unless the
 * secret has 24 to 64 bytes, the sizes that Standard Webhooks allows.
 */
export function signingKeyOf(secret: string): KeyObject {
  const text = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] ?? '';
  const key = Buffer.from(text, 'base64');
  if (key.length < 24 || key.length > 64) throw new RangeError('a secret must be whsec_ + base64 of 24 to 64 bytes');
  return createSecretKey(key);
}

/**
 * Returns the webhook-signature header of Standard Webhooks v1, one signature per key, space-separated. A signature is `v1,` + base64 HMAC-SHA256 of
 * `id.timestamp.body`. The timestamp is in Unix seconds. The body is signed byte for byte as sent.
 */
export function signatureHeader(
  id: string,
  timestampSeconds: number,
  body: string | Buffer,
  keys: KeyObject[],
): string {
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return signatures.join(' ');
}

/** Maximum difference between a signature's timestamp and now, in seconds. */
const toleranceSeconds = 300;
/** Maximum length of the header, about 20 signatures: each is compared with the signature of each key. */
const maxSignaturesLength = 1_000;

/**
 * Returns whether one of the keys signed a request's body by Standard Webhooks, at most five minutes from `now`.
 * Returns false if the signature header is longer than 1,000 characters. Header names are in lower case, as in Node.
 */
export function isSigned(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string | Buffer,
  keys: KeyObject[],
  now: Date,
): boolean {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!/^\d{1,12}$/.test(timestamp) || signatures.length > maxSignaturesLength) return false;
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const given = signatures.split(' ').map((signature) => Buffer.from(signature));
  const expected = signatureHeader(id, Number(timestamp), body, keys).split(' ');
  return expected.some((right) =>
    given.some((one) => one.length === right.length && timingSafeEqual(one, Buffer.from(right))),
  );
}
