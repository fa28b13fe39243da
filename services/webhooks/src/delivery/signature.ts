import { createHmac } from 'node:crypto';

/**
 * The bytes of a signing secret `whsec_` + base64. Throws a RangeError where it is not one of 24 to 64 bytes, the sizes
 * that Standard Webhooks allows.
 */
export function signingKeyOf(secret: string): Buffer {
  const text = secret.startsWith('whsec_') ? secret.slice(6) : '';
  const key = Buffer.from(text, 'base64');
  if (key.length < 24 || key.length > 64) throw new RangeError('a secret must be whsec_ + base64 of 24 to 64 bytes');
  return key;
}

/**
 * The webhook-signature header of Standard Webhooks v1: `v1,` + base64 HMAC-SHA256 of `id.timestamp.body`, one for each
 * key, space-separated. The timestamp is in unix seconds; the body is signed byte for byte as it is sent.
 */
export function signatureHeader(id: string, timestampSeconds: number, body: string | Buffer, keys: Buffer[]): string {
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return signatures.join(' ');
}
