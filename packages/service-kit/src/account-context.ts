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

const knownForMs = 60_000;
const maxKnown = 10_000;
const maxAsked = 8;

/** Accounts, for work that no request started. What was asked of the gateway is known for a minute. */
export class AccountDirectory {
  readonly #known = new Map<string, { account: AccountContext | null; until: number }>();
  readonly #fetch: (accountId: string) => Promise<AccountContext | null>;

  constructor(fetch: (accountId: string) => Promise<AccountContext | null>) {
    this.#fetch = fetch;
  }

  /** An account that is known; null where there is none of that id, undefined where it is to be asked for. */
  known(accountId: string): AccountContext | null | undefined {
    const known = this.#known.get(accountId);
    return known && known.until > performance.now() ? known.account : undefined;
  }

  /** Asks for accounts, eight at a time. Throws 503 where the gateway does not answer. */
  async learn(accountIds: Iterable<string>): Promise<void> {
    const waiting = [...new Set(accountIds)];
    const askOn = async () => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const account = await this.#fetch(id);
        if (this.#known.size >= maxKnown) this.#known.clear();
        this.#known.set(id, { account, until: performance.now() + knownForMs });
      }
    };
    await Promise.all(Array.from({ length: maxAsked }, askOn));
  }
}
