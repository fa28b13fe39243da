import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { AccountContext, ApiError, type ServiceName } from '@customer-platform/contracts/core';
import { LRUCache } from 'lru-cache';

/** The header in which the gateway passes a service the account. */
export const contextHeader = 'platform-context';

/** The header in which a service tells the gateway the account of a hook. */
export const hookAccountHeader = 'hook-account';

/** Maximum number of accounts whose parsed payloads a process caches. */
const maxParsedPayloads = 1_000;

/** Scope of a signed context: one request to one service. */
interface ContextRequest {
  service: ServiceName;
  method: string;
  /** Path and query, exactly as the service receives them. */
  target: string;
}

/** Material to sign one account's contexts: its JSON in base64url, and a key derived from it and the shared secret. */
interface ContextSigner {
  readonly payload: string;
  readonly key: KeyObject;
}

/** Returns an account's signer, reused for all its requests, so that each HMAC covers only a short string. */
export function contextSigner(secret: string, account: AccountContext): ContextSigner {
  const payload = Buffer.from(JSON.stringify(account)).toString('base64url');
  return { payload, key: keyOf(secret, payload) };
}

/**
 * Signs an account for one request. Returns the payload, the expiry in Unix ms and an HMAC-SHA256 over expiry and request, joined by dots.
 * The signature allows its holder nothing but to repeat that request until `expiresAtMs`.
 */
export function signContext({ payload, key }: ContextSigner, request: ContextRequest, expiresAtMs: number): string {
  return `${payload}.${expiresAtMs}.${macOf(key, String(expiresAtMs), request)}`;
}

/**
 * Returns a reader for contexts that `signContext` made for `service`, which serves only the gateway. The reader throws ApiError 401 key_required
 * if the header is missing, forged, expired or made for another request.
 */
export function contextReader(secret: string, service: ServiceName) {
  const known = new LRUCache<string, { key: KeyObject; account: AccountContext }>({ max: maxParsedPayloads });
  return (header: string | undefined, method: string, target: string, nowMs: number): AccountContext => {
    const [payload = '', expiry = '', mac = '', ...more] = header?.split('.') ?? [];
    const signer = known.get(payload);
    const key = signer?.key ?? keyOf(secret, payload);
    const isSigned = more.length === 0 && isSame(mac, macOf(key, expiry, { service, method, target }));
    if (!isSigned || !(Number(expiry) >= nowMs)) {
      const message = 'This service accepts requests from the gateway only; call the public address.';
      throw new ApiError('key_required', message);
    }
    // Parses and caches only signed payloads.
    const account = signer?.account ?? AccountContext.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
    if (!signer) known.set(payload, { key, account });
    return account;
  };
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function keyOf(secret: string, payload: string): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update(payload).digest());
}

function macOf(key: KeyObject, expiry: string, { service, method, target }: ContextRequest): string {
  return createHmac('sha256', key).update(`${expiry} ${service} ${method} ${target}`).digest('base64url');
}
