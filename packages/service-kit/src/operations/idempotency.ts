import { hkdfSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '../database/database.ts';
import { lockNumber } from '../database/locks.ts';
import { limitReached } from '../telemetry/limits.ts';
import { openText, sealText } from '../values/sealed-text.ts';

/** Retention of a stored response. */
export const retentionMs = 24 * 3_600_000;
/** Time that a request waits for the one that runs under its key, and how many of one account may wait in this process. */
const waitMs = 10_000;
const maxWaitersPerAccount = 32;

/** One keyed write: what its Idempotency-Key belongs to. */
export interface IdempotencyClaim {
  accountId: string;
  method: string;
  path: string;
  key: string;
  fingerprint: Buffer;
  /** Encrypts the stored response, where it shows a secret. */
  seal: ResponseSeal | undefined;
}

/** A response as it was sent the first time: JSON text, or null for no body. */
export interface StoredResponse {
  status: number;
  body: string | null;
}

/** Why a key cannot be claimed: its response is stored, or its first request is still running. */
export type KnownKey = ({ kind: 'replayed' } & StoredResponse) | { kind: 'running' };

/** Reads the header. Throws invalid_request with field Idempotency-Key unless it is 1 to 255 printable ASCII characters. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new ApiError('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters', {
    field: 'Idempotency-Key',
  });
}

/**
 * Begins a keyed write inside its transaction. Returns undefined where the write may go on (the key is then held until the transaction
 * ends), else what is known of the key. Throws invalid_request where it was used with another body.
 */
export async function claimKey(tx: Sql, claim: IdempotencyClaim, now: Date): Promise<KnownKey | undefined> {
  const { accountId, method, path, key } = claim;
  const [row] = await tx<(StoredResponse & { held: boolean; fingerprint: Buffer | null })[]>`
    select pg_try_advisory_xact_lock(${lockNumber('key', accountId, method, path, key)}::bigint) as held, stored.*
    from (select 1) as one
    left join (
      select fingerprint, status, answer as body from idempotency
      where account_id = ${accountId} and method = ${method} and path = ${path} and key = ${key}
        and created_at > ${new Date(now.getTime() - retentionMs)}
    ) as stored on true`;
  if (row!.fingerprint) {
    if (!row!.fingerprint.equals(claim.fingerprint)) {
      throw new ApiError('invalid_request', 'Idempotency-Key was used before with another body; use a new key', {
        field: 'Idempotency-Key',
      });
    }
    return { kind: 'replayed', status: row!.status, body: claim.seal ? claim.seal.open(row!) : row!.body };
  }
  return row!.held ? undefined : { kind: 'running' };
}

/**
 * Stores the response in the transaction that made it. Returns false where another transaction stored one for the key first: the caller
 * rolls back and replays that one.
 */
export async function storeResponse(
  tx: Sql,
  claim: IdempotencyClaim,
  response: StoredResponse,
  now: Date,
): Promise<boolean> {
  const { accountId, method, path, key, fingerprint, seal } = claim;
  const body = seal ? seal.seal(response) : response.body;
  const rows = await tx`
    insert into idempotency as known (account_id, method, path, key, fingerprint, status, answer, created_at)
    values (${accountId}, ${method}, ${path}, ${key}, ${fingerprint}, ${response.status}, ${body}, ${now})
    on conflict (account_id, method, path, key) do update
      set fingerprint = excluded.fingerprint, status = excluded.status, answer = excluded.answer, created_at = excluded.created_at
      where known.created_at <= ${new Date(now.getTime() - retentionMs)}
    returning 1`;
  return rows.length === 1;
}

/** Encrypts responses that show a secret before they are stored, and reads them back; a refusal shows none and stays as it is. */
export class ResponseSeal {
  readonly #key: Buffer;

  /** The key is derived from a secret that all processes of the service have. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'stored answers', 32));
  }

  /** Returns the body as it is stored. */
  seal({ status, body }: StoredResponse): string | null {
    if (status >= 300 || body === null) return body;
    return sealText(this.#key, body).toString('base64');
  }

  /** Returns the body as it was sent. Throws 409 invalid_state where the secret has changed since: it cannot be shown again. */
  open({ status, body }: StoredResponse): string | null {
    if (status >= 300 || body === null) return body;
    try {
      return openText(this.#key, Buffer.from(body, 'base64'));
    } catch (cause) {
      const message = 'This Idempotency-Key was used before and its response is no longer available; use a new key';
      throw new ApiError('invalid_state', message, { headers: { 'Retry-After': '86400' }, cause });
    }
  }
}

/** Lets requests wait for the one that runs under their key, without a database connection, in bounded number and time. */
export class KeyWaiters {
  readonly #waiting = new Map<string, number>();

  /**
   * Pauses between the attempts of an account's request, each longer than the one before; whoever takes them calls `return` at the end.
   * Throws 409 invalid_state with Retry-After where too many wait already, and after 10 s.
   */
  async *pauses(accountId: string): AsyncGenerator<void, void> {
    const waiting = this.#waiting.get(accountId) ?? 0;
    if (waiting >= maxWaitersPerAccount) throw stillRunning();
    this.#waiting.set(accountId, waiting + 1);
    try {
      const deadline = performance.now() + waitMs;
      for (let pauseMs = 20; performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 250)) {
        await sleep(pauseMs);
        yield;
      }
      throw stillRunning();
    } finally {
      const left = this.#waiting.get(accountId)! - 1;
      if (left === 0) this.#waiting.delete(accountId);
      else this.#waiting.set(accountId, left);
    }
  }
}

function stillRunning(): ApiError {
  limitReached('idempotency_waits');
  return new ApiError(
    'invalid_state',
    'The first request with this Idempotency-Key is still running; try again shortly',
    { headers: { 'Retry-After': '1' } },
  );
}
