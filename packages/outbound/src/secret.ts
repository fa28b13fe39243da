import { randomBytes } from 'node:crypto';
import { openText, sealText } from '@customer-platform/service-kit';

/** Encryption keys by number. New secrets are encrypted with `current`. */
export type SecretKeys = { current: number; byId: ReadonlyMap<number, Buffer> };

/** Bytes of key number, nonce and tag. A stored secret is longer. */
const minBytes = 29;

/**
 * Parses "1:<base64>,2:<base64>", keys of 32 bytes numbered 0 to 255. A single base64 key without a number is number 1. The first key encrypts and
 * all keys decrypt, so put a new key first to rotate. Throws a RangeError that never shows a key.
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

/** Returns a new signing secret: `whsec_` + base64 of 32 random bytes. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Encrypts a secret with AES-256-GCM into key number (1 byte), nonce (12), ciphertext, tag (16). The result is bound to
 * its account and `row`: in another row it does not decrypt.
 */
export function encryptSecret(keys: SecretKeys, secret: string, accountId: string, row: string): Buffer {
  const id = keys.current;
  return Buffer.concat([Buffer.of(id), sealText(keyWith(keys, id), secret, boundTo(id, accountId, row))]);
}

/** Returns the secret that encryptSecret encrypted. Throws if the key is unknown, or if the bytes, account or row differ. */
export function decryptSecret(keys: SecretKeys, stored: Uint8Array, accountId: string, row: string): string {
  const bytes = Buffer.from(stored);
  if (bytes.length <= minBytes) throw new RangeError(`a stored secret must be longer than ${minBytes} bytes`);
  const id = bytes.readUInt8(0);
  return openText(keyWith(keys, id), bytes.subarray(1), boundTo(id, accountId, row));
}

function keyWith(keys: SecretKeys, id: number): Buffer {
  const key = keys.byId.get(id);
  if (!key) throw new RangeError(`a stored secret needs secret key ${id}, which is not configured`);
  return key;
}

function boundTo(keyId: number, accountId: string, row: string): string {
  return `${keyId}/${accountId}/${row}`;
}
