import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { SecretKeys } from '@customer-platform/outbound';

/** What a link unsubscribes: a contact from marketing on a channel. */
export interface Subscription {
  accountId: string;
  contactId: string;
  channel: Channel;
}

/** Channels by their number in a token. The order must never change. */
const channels: readonly Channel[] = ['email', 'sms', 'whatsapp'];

/** Binds the derived keys to this use, so that no signature or ciphertext of another use is a valid token. */
const label = 'customer-platform unsubscribe links 1';
const algorithm = 'sha256';
const bytesOf = { head: 2, id: 16, signature: 32 };
const signedBytes = bytesOf.head + 2 * bytesOf.id;
/** 66 bytes in base64url. */
const tokenForm = /^[\w-]{88}$/;

/**
 * Links by which a recipient unsubscribes without a key. A token is base64url of a key number and a channel number (1 byte each), the ids of account
 * and contact (16 each), and an HMAC-SHA256 of these. Nothing is stored; a token is valid while its key is configured.
 */
export class UnsubscribeLinks {
  readonly #publicUrl: string;
  readonly #current: number;
  readonly #keys: ReadonlyMap<number, Buffer>;

  /** @param publicUrl where recipients reach the gateway, without a trailing slash */
  constructor({ current, byId }: SecretKeys, publicUrl: string) {
    this.#publicUrl = publicUrl;
    this.#current = current;
    this.#keys = new Map([...byId].map(([id, key]) => [id, Buffer.from(hkdfSync(algorithm, key, '', label, 32))]));
  }

  urlOf({ accountId, contactId, channel }: Subscription): string {
    const head = Buffer.of(this.#current, channels.indexOf(channel));
    const signed = Buffer.concat([head, ...[accountId, contactId].map(bytesOfUuid)]);
    const token = Buffer.concat([signed, this.#signatureOf(signed, this.#keys.get(this.#current)!)]);
    return `${this.#publicUrl}/u/${token.toString('base64url')}`;
  }

  /** Returns what a link's token unsubscribes; undefined if the token is invalid. Takes constant time for every wrong signature. */
  subscriptionOf(token: string): Subscription | undefined {
    if (!tokenForm.test(token)) return undefined;
    const bytes = Buffer.from(token, 'base64url');
    const signed = bytes.subarray(0, signedBytes);
    const key = this.#keys.get(signed.readUInt8(0));
    const channel = channels[signed.readUInt8(1)];
    if (!key || !channel || !timingSafeEqual(bytes.subarray(signedBytes), this.#signatureOf(signed, key)))
      return undefined;
    const { head, id } = bytesOf;
    return { accountId: uuidAt(signed, head), contactId: uuidAt(signed, head + id), channel };
  }

  #signatureOf(signed: Buffer, key: Buffer): Buffer {
    return createHmac(algorithm, key).update(signed).digest();
  }
}

function bytesOfUuid(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function uuidAt(bytes: Buffer, start: number): string {
  const hex = bytes.toString('hex', start, start + bytesOf.id);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
