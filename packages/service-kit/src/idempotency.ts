import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from './database.ts';

/** How long a stored answer is repeated. */
const retentionMs = 24 * 3_600_000;
/** How long a request waits for the one that runs under its key, and how many of one account may wait in this process. */
const waitMs = 10_000;
const maxWaitersPerAccount = 32;

/** One keyed write: what its Idempotency-Key belongs to. */
export interface IdempotencyClaim {
  accountId: string;
  method: string;
  path: string;
  key: string;
  fingerprint: Buffer;
}

/** An answer as it was sent the first time. */
export interface StoredAnswer {
  status: number;
  answer: string | null;
}

/** Reads the header. Throws invalid_request with field Idempotency-Key unless it is 1 to 255 printable ASCII characters. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new ApiError('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters', {
    field: 'Idempotency-Key',
  });
}

/** What makes two bodies the same: their bytes. */
export function fingerprintOf(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest();
}

/**
 * Begins a keyed write inside its transaction. Answers the stored answer where the key was used with this body before,
 * 'running' where another request holds the key now, and undefined where the write may go on (the key is then held until
 * the transaction ends). Throws invalid_request where the key was used with another body.
 */
export async function claimKey(
  tx: Sql,
  claim: IdempotencyClaim,
  now: Date,
): Promise<StoredAnswer | 'running' | undefined> {
  const { accountId, method, path, key } = claim;
  const [row] = await tx<(StoredAnswer & { held: boolean; fingerprint: Buffer | null })[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`${accountId} ${method} ${path} ${key}`}, 0)) as held, stored.*
    from (select 1) as one
    left join (
      select fingerprint, status, answer from idempotency
      where account_id = ${accountId} and method = ${method} and path = ${path} and key = ${key}
        and created_at > ${new Date(now.getTime() - retentionMs)}
    ) as stored on true`;
  if (row!.fingerprint) {
    if (!row!.fingerprint.equals(claim.fingerprint)) {
      throw new ApiError('invalid_request', 'Idempotency-Key was used before with another body; use a new key', {
        field: 'Idempotency-Key',
      });
    }
    return { status: row!.status, answer: row!.answer };
  }
  return row!.held ? undefined : 'running';
}

/**
 * Stores the answer in the transaction that made it. Answers false where another transaction stored one for the key
 * first: the caller rolls back and repeats that one.
 */
export async function storeAnswer(tx: Sql, claim: IdempotencyClaim, stored: StoredAnswer, now: Date): Promise<boolean> {
  const { accountId, method, path, key, fingerprint } = claim;
  const rows = await tx`
    insert into idempotency as known (account_id, method, path, key, fingerprint, status, answer, created_at)
    values (${accountId}, ${method}, ${path}, ${key}, ${fingerprint}, ${stored.status}, ${stored.answer}, ${now})
    on conflict (account_id, method, path, key) do update
      set fingerprint = excluded.fingerprint, status = excluded.status, answer = excluded.answer, created_at = excluded.created_at
      where known.created_at <= ${new Date(now.getTime() - retentionMs)}
    returning 1`;
  return rows.length === 1;
}

/** Encrypts answers that show a secret before they are stored (AES-256-GCM), and reads them back. */
export class AnswerSeal {
  readonly #key: Buffer;

  /** The key is derived from a secret that all processes of the service have. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'stored answers', 32));
  }

  seal(answer: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    const sealed = Buffer.concat([nonce, cipher.update(answer, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return sealed.toString('base64');
  }

  /** Throws 409 invalid_state where the secret has changed since: the answer cannot be shown again. */
  open(sealed: string): string {
    try {
      return this.#decrypt(sealed);
    } catch (cause) {
      const message = 'This Idempotency-Key was used before and its response is no longer available; use a new key';
      throw new ApiError('invalid_state', message, { headers: { 'Retry-After': '86400' }, cause });
    }
  }

  #decrypt(sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
  }
}

/** Deletes answers that are no longer repeated, at most `limit` a call; answers how many. */
export async function forgetAnswers(sql: Sql, now: Date, limit: number): Promise<number> {
  const result = await sql`
    delete from idempotency where (account_id, method, path, key) in (
      select account_id, method, path, key from idempotency
      where created_at <= ${new Date(now.getTime() - retentionMs)} order by created_at limit ${limit})`;
  return result.count;
}

/** Lets requests wait for the one that runs under their key, without a database connection, in bounded number and time. */
export class KeyWaiters {
  readonly #waiting = new Map<string, number>();

  /** Calls `attempt` until it answers something other than 'running'. Throws 409 invalid_state with Retry-After when it takes too long. */
  async wait<Result>(accountId: string, attempt: () => Promise<Result | 'running'>): Promise<Result> {
    const waiting = this.#waiting.get(accountId) ?? 0;
    if (waiting >= maxWaitersPerAccount) throw stillRunning();
    this.#waiting.set(accountId, waiting + 1);
    try {
      const deadline = performance.now() + waitMs;
      for (let pauseMs = 20; performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 250)) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        const result = await attempt();
        if (result !== 'running') return result;
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
  return new ApiError(
    'invalid_state',
    'The first request with this Idempotency-Key is still running; try again shortly',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
