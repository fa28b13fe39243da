import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { decryptSecret, encryptSecret, newSigningSecret, parseSecretKeys } from './secret.ts';

const key = () => randomBytes(32).toString('base64');
const keys = parseSecretKeys(`7:${key()}`);

describe('endpoint secrets', () => {
  it('a new secret is whsec_ and base64 of 32 bytes, never the same', () => {
    const secret = newSigningSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newSigningSecret()).not.toBe(secret);
  });

  it('a stored secret does not show its text and decrypts to it', () => {
    const secret = newSigningSecret();
    const stored = encryptSecret(keys, secret, 'account', 'endpoint');
    expect(stored.includes(secret.slice(6, 20))).toBe(false);
    expect(stored[0]).toBe(7);
    expect(encryptSecret(keys, secret, 'account', 'endpoint').equals(stored)).toBe(false);
    expect(decryptSecret(keys, new Uint8Array(stored), 'account', 'endpoint')).toBe(secret);
  });

  it('another account, another endpoint or a changed byte does not decrypt', () => {
    const stored = encryptSecret(keys, newSigningSecret(), 'account', 'endpoint');
    expect(() => decryptSecret(keys, stored, 'other', 'endpoint')).toThrow();
    expect(() => decryptSecret(keys, stored, 'account', 'other')).toThrow();
    for (const position of [1, 20, stored.length - 1]) {
      const changed = Buffer.from(stored);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(() => decryptSecret(keys, changed, 'account', 'endpoint')).toThrow();
    }
    expect(() => decryptSecret(keys, stored.subarray(0, 29), 'account', 'endpoint')).toThrow('longer than');
  });

  it('a new first key encrypts, the old one still decrypts, and the error for a missing one names it', () => {
    const [first, second] = [`1:${key()}`, `2:${key()}`];
    const old = encryptSecret(parseSecretKeys(first), 'whsec_x', 'a', 'e');
    const both = parseSecretKeys(`${second},${first}`);
    expect(decryptSecret(both, old, 'a', 'e')).toBe('whsec_x');
    const renewed = encryptSecret(both, 'whsec_x', 'a', 'e');
    expect(renewed[0]).toBe(2);
    expect(() => decryptSecret(parseSecretKeys(first), renewed, 'a', 'e')).toThrow('secret key 2');
  });

  it('one bare key is number 1', () => {
    expect(parseSecretKeys(key()).current).toBe(1);
  });

  it.each(['short', `300:${key()}`, `1:${key()},1:${key()}`, `1:${randomBytes(16).toString('base64')}`])(
    'keys written as "%s" are refused without showing them in the error',
    (text) => {
      const parse = () => parseSecretKeys(text);
      expect(parse).toThrow(/^secret key [12] must be <number 0-255, each once>:<base64 of 32 bytes>$/);
    },
  );
});
