import { hkdfSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@customer-platform/contracts/core';
import postgres from 'postgres';
import type { Sql, Unsent } from '../database/database.ts';
import { lockNumber } from '../database/locks.ts';
import { FairPermits } from '../fairness/fair-permits.ts';
import { limitReached } from '../telemetry/limits.ts';
import { backoffMs } from '../values/backoff.ts';
import { openText, sealText } from '../values/sealed-text.ts';

/** Retention of a stored response. */
export const retentionMs = 24 * 3_600_000;
/** Time that a request waits for a running one with the same key. */
const waitMs = 10_000;
/** Permits for requests of this process that wait: 1,000 in total, at most 32 for a single account. */
const waiters = new FairPermits(1_000, 1 / 30);

/** One keyed write: the scope of its Idempotency-Key, and the fingerprint of its body. */
export interface IdempotencyClaim {
  accountId: string;
  method: string;
  path: string;
  key: string;
  fingerprint: Buffer;
  /** Encrypts the stored response if it shows a secret. */
  seal: ResponseSeal | undefined;
}

/** A response as first sent: a JSON string, or null for no body. */
export interface StoredResponse {
  status: number;
  body: string | null;
}

/** Reads the header. Throws invalid_request with field Idempotency-Key unless it is 1 to 255 printable ASCII characters. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new ApiError('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters', {
    field: 'Idempotency-Key',
  });
}

/**
 * Claims the key in the write's transaction. Returns undefined if the write may continue, with the key locked until the transaction ends.
 * Otherwise returns the stored response. Throws KeyRunning, and invalid_request if the key was used with another body.
 */
export async function claimKey(tx: Sql, claim: IdempotencyClaim, now: Date): Promise<StoredResponse | undefined> {
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
    return { status: row!.status, body: claim.seal ? claim.seal.open(row!) : row!.body };
  }
  if (!row!.held) throw new KeyRunning();
  return undefined;
}

/**
 * Stores the response in the transaction that made it. Fails if another transaction has stored one for the key. `isStoredAlready` recognizes
 * that error, and the next attempt replays the stored response.
 */
export function storeResponse(tx: Sql, claim: IdempotencyClaim, response: StoredResponse, now: Date): Unsent {
  const { accountId, method, path, key, fingerprint, seal } = claim;
  const body = seal ? seal.seal(response) : response.body;
  // PostgreSQL cannot cast this string to a number, so its error says what happened without a value of the row.
  return tx`
    insert into idempotency as known (account_id, method, path, key, fingerprint, status, answer, created_at)
    values (${accountId}, ${method}, ${path}, ${key}, ${fingerprint}, ${response.status}, ${body}, ${now})
    on conflict (account_id, method, path, key) do update
      set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at,
        status = case when known.created_at <= ${new Date(now.getTime() - retentionMs)} then excluded.status
          else left('stored already' || known.method, 14)::smallint end`;
}

/** Returns whether `storeResponse` failed because the key already has a response. */
export function isStoredAlready(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === '22P02' && error.message.includes('stored already');
}

/** Encrypts responses that show a secret for storage, and decrypts them. Refusals show no secret and stay as they are. */
export class ResponseSeal {
  readonly #key: Buffer;

  /** Derives the encryption key from a secret that all processes of the service share. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'stored answers', 32));
  }

  /** Returns the body to store. */
  seal({ status, body }: StoredResponse): string | null {
    if (status >= 300 || body === null) return body;
    return sealText(this.#key, body).toString('base64');
  }

  /** Returns the body as it was sent. Throws 409 invalid_state if the secret has changed since, which makes the body unreadable. */
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

/** Thrown while the first request with a key still runs, to roll back. If that request has just ended, `isStoredAlready` applies instead. */
export class KeyRunning extends Error {}

/**
 * Waits before the next attempt of a request whose key is taken, without a database connection. Waits longer with each `round`, from 1 on.
 * Throws 409 invalid_state with Retry-After if too many requests wait already, or 10 s after `sinceMs`.
 */
export async function waitForKey(accountId: string, sinceMs: number, round: number): Promise<void> {
  if (performance.now() - sinceMs >= waitMs || !waiters.tryTake(accountId)) throw stillRunning();
  try {
    await sleep(backoffMs({ firstMs: 20, longestMs: 250 }, round));
  } finally {
    waiters.release(accountId);
  }
}

function stillRunning(): ApiError {
  limitReached('idempotency_waits');
  const message = 'The first request with this Idempotency-Key is still running; try again shortly';
  return new ApiError('invalid_state', message, { headers: { 'Retry-After': '1' } });
}
