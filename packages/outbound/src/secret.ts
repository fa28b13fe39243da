import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Keys that secrets are stored under, by their number; new secrets are encrypted with `current`. */
export type SecretKeys = { current: number; byId: ReadonlyMap<number, Buffer> };

const nonceBytes = 12;
const tagBytes = 16;
const headerBytes = 1 + nonceBytes;

/**
 * Reads "1:<base64>,2:<base64>", keys of 32 bytes numbered 0 to 255, or one bare base64 key, which is number 1. The first
 * one encrypts, all of them decrypt: put a new key in front to rotate. Throws a RangeError that never shows the key.
 */
export function parseSecretKeys(text: string): SecretKeys {
  const byId = new Map<number, Buffer>();
  for (const [index, part] of text.split(',').entries()) {
    const match = /^(?:(\d{1,3}):)?([A-Za-z0-9+/=_-]+)$/.exec(part.trim());
    const id = match?.[1] === undefined ? 1 : Number(match[1]);
    const key = Buffer.from(match?.[2] ?? '', 'base64');
    if (!match || id > 255 || key.length !== 32 || byId.has(id)) {
      throw new RangeError(`secret key ${index + 1} must be <number 0-255, each once>:<base64 of 32 bytes>`);
    }
    byId.set(id, key);
  }
  return { current: [...byId.keys()][0] ?? 1, byId };
}

/** A new signing secret: `whsec_` + base64 of 32 random bytes. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Encrypts a secret with AES-256-GCM into key number (1 byte), nonce (12), ciphertext, tag (16). It is bound to its
 * account and `row`: moved to another row it does not decrypt.
 */
export function encryptSecret(keys: SecretKeys, secret: string, accountId: string, row: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', keyWith(keys, keys.current), nonce);
  const header = Buffer.concat([Buffer.of(keys.current), nonce]);
  cipher.setAAD(boundTo(keys.current, accountId, row));
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([header, ciphertext, cipher.getAuthTag()]);
}

/** The secret that encryptSecret stored. Throws where the key is unknown or the bytes, account or row are others. */
export function decryptSecret(keys: SecretKeys, stored: Uint8Array, accountId: string, row: string): string {
  const bytes = Buffer.from(stored);
  if (bytes.length <= headerBytes + tagBytes) throw new RangeError('a stored secret is longer than its nonce and tag');
  const keyId = bytes.readUInt8(0);
  const decipher = createDecipheriv('aes-256-gcm', keyWith(keys, keyId), bytes.subarray(1, headerBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(boundTo(keyId, accountId, row));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  const ciphertext = bytes.subarray(headerBytes, -tagBytes);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}

function keyWith(keys: SecretKeys, id: number): Buffer {
  const key = keys.byId.get(id);
  if (!key) throw new RangeError(`a stored secret needs secret key ${id}, which is not configured`);
  return key;
}

function boundTo(keyId: number, accountId: string, row: string): Buffer {
  return Buffer.from(`${keyId}/${accountId}/${row}`, 'utf8');
}
