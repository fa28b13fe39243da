import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 34;
const checksumLength = 6;
const shape = /^cp_(?:live|test)_[0-9A-Za-z]{40}$/;

/**
 * Returns a new API key: `cp_live_` or `cp_test_`, 34 random base62 characters (202 bits), and a checksum. The checksum
 * has 6 characters and covers all preceding ones.
 */
export function newKey(mode: 'live' | 'test'): string {
  let key = `cp_${mode}_`;
  for (let index = 0; index < randomLength; index++) key += alphabet[randomInt(alphabet.length)];
  return key + checksumOf(key);
}

/** Returns whether a string has the shape and checksum of a key. A mistyped key does not. */
export function isWellFormedKey(key: string): boolean {
  return shape.test(key) && checksumOf(key.slice(0, -checksumLength)) === key.slice(-checksumLength);
}

/** Returns the hash under which a key is stored and found: its SHA-256 in base64. */
export function hashOfKey(key: string): string {
  return hash('sha256', key, 'base64');
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (let index = 0; index < checksumLength; index++) {
    checksum = alphabet[rest % alphabet.length]! + checksum;
    rest = Math.floor(rest / alphabet.length);
  }
  return checksum;
}
