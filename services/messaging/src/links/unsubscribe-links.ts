import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { SecretKeys } from '@customer-platform/outbound';

/** What a link ends: marketing to a contact on a channel. */
export interface Subscription {
  accountId: string;
  contactId: string;
  channel: Channel;
}

/** Channels by their number in a token, which never changes. */
const channels: readonly Channel[] = ['email', 'sms', 'whatsapp'];

/** Binds the derived keys to this use: no signature or ciphertext of another one is a token. */
const label = 'customer-platform unsubscribe links 1';
const algorithm = 'sha256';
const bytesOf = { head: 2, id: 16, signature: 32 };
const signedBytes = bytesOf.head + 2 * bytesOf.id;
/** 66 bytes in base64url. */
const tokenForm = /^[\w-]{88}$/;

/**
 * Links by which a recipient unsubscribes without a key. A token is base64url of the number of its key, that of the channel (1 byte each), the ids of
 * account and contact (16 each), and an HMAC-SHA256 of them. Nothing is stored; it is valid for as long as its key is configured.
 */
export class UnsubscribeLinks {
  readonly #publicUrl: string;
  readonly #current: number;
  readonly #keys: ReadonlyMap<number, Buffer>;

  /** @param publicUrl where recipients reach the gateway, without a slash at its end */
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

  /** Returns what the link with this token ends; undefined if it is none of ours. Takes the same time for every wrong signature. */
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
