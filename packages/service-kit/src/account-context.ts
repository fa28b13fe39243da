import { createHmac, timingSafeEqual } from 'node:crypto';
import { AccountContext, ApiError } from '@customer-platform/contracts/core';

/** The header in which the gateway hands a service the account it acts for. */
export const contextHeader = 'platform-context';

/** How many verified contexts a process remembers, so that a busy key costs no HMAC a request. */
const rememberedContexts = 1_000;

/** Signs an account for `lifetimeMs` from `nowMs`: base64url JSON, a dot, and an HMAC-SHA256 over it. */
export function signContext(secret: string, account: AccountContext, nowMs: number, lifetimeMs: number): string {
  const payload = Buffer.from(JSON.stringify({ account, exp: nowMs + lifetimeMs })).toString('base64url');
  return `${payload}.${macOf(secret, payload)}`;
}

/**
 * Reads what `signContext` made. Throws an ApiError 401 key_required where the header is missing, forged or over:
 * a service answers nobody but the gateway.
 */
export function contextReader(secret: string): (header: string | undefined, nowMs: number) => AccountContext {
  const remembered = new Map<string, { account: AccountContext; exp: number }>();
  return (header, nowMs) => {
    const known = header === undefined ? undefined : (remembered.get(header) ?? verify(secret, header));
    if (!known || known.exp < nowMs) {
      if (known) remembered.delete(header!);
      throw new ApiError('key_required', 'This service answers the gateway only; call the public address.');
    }
    if (!remembered.has(header!)) {
      if (remembered.size >= rememberedContexts) remembered.delete(remembered.keys().next().value!);
      remembered.set(header!, known);
    }
    return known.account;
  };
}

function verify(secret: string, header: string): { account: AccountContext; exp: number } | undefined {
  const dot = header.indexOf('.');
  const payload = header.slice(0, dot);
  const given = Buffer.from(header.slice(dot + 1));
  const expected = Buffer.from(macOf(secret, payload));
  if (dot < 1 || given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const { account, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    account: unknown;
    exp: number;
  };
  return { account: AccountContext.parse(account), exp };
}

function macOf(secret: string, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('base64url');
}

/** Finds an account for work that no request started; answers are kept for a minute. */
export class AccountDirectory {
  readonly #known = new Map<string, { account: AccountContext; until: number }>();
  readonly #fetch: (accountId: string) => Promise<AccountContext | null>;

  constructor(fetch: (accountId: string) => Promise<AccountContext | null>) {
    this.#fetch = fetch;
  }

  /** Throws 503 where the gateway does not answer, and an Error where there is no such account. */
  async find(accountId: string): Promise<AccountContext> {
    const known = this.#known.get(accountId);
    if (known && known.until > performance.now()) return known.account;
    const account = await this.#fetch(accountId);
    if (!account) throw new Error(`there is no account ${accountId}`);
    if (this.#known.size >= 10_000) this.#known.clear();
    this.#known.set(accountId, { account, until: performance.now() + 60_000 });
    return account;
  }
}
