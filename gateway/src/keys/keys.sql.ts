import type { Key } from '@customer-platform/contracts/accounts';
import { type Sql, serviceUnavailable } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { AccountRow } from '../accounts/accounts.sql.ts';

export interface KeyRow
  extends Pick<z.output<typeof Key>, 'id' | 'name' | 'mode' | 'scopes' | 'allowed_addresses' | 'last4'> {
  account_id: string;
  per_minute: number | null;
  burst: number | null;
  hash: Buffer;
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date | null;
  /** The end of the overlap, set by a rotation. */
  retires_at: Date | null;
  revoked_at: Date | null;
}

/** A key with the account that it acts as, which for a test key is the sandbox of its account. */
export interface KeyWithAccount
  extends AccountRow,
    Pick<KeyRow, 'scopes' | 'allowed_addresses' | 'last4' | 'revoked_at'> {
  key_id: string;
  owner_id: string;
  key_per_minute: number | null;
  key_burst: number | null;
  /** Expiry or retirement, whichever is earlier. */
  ends_at: Date | null;
}

/**
 * Finds a key by its hash, in any state. Lists all columns, so that adding a column does not invalidate this hot prepared statement. Throws 503 if
 * the row has another hash: even a faulty driver must not let one caller act as another.
 */
export async function findKeyByHash(sql: Sql, hash: Buffer): Promise<KeyWithAccount | undefined> {
  const [row] = await sql<(KeyWithAccount & { hash: Buffer })[]>`
    select acting.account_id, acting.parent_id, acting.name, acting.status, acting.timezone, acting.country, acting.language, acting.currency,
      acting.plan_name, acting.plan_api, acting.plan_modules, acting.modules_off, acting.per_minute, acting.burst,
      acting.created_at, acting.updated_at,
      keys.id as key_id, keys.account_id as owner_id, keys.scopes, keys.allowed_addresses, keys.last4, keys.hash,
      keys.per_minute as key_per_minute, keys.burst as key_burst,
      least(keys.expires_at, keys.retires_at) as ends_at, keys.revoked_at
    from keys
    join accounts as acting on acting.account_id = keys.account_id and keys.mode = 'live'
      or acting.parent_id = keys.account_id and keys.mode = 'test'
    where keys.hash = ${hash}`;
  if (!row) return undefined;
  const { hash: found, ...key } = row;
  if (!Buffer.isBuffer(found) || !found.equals(hash))
    throw serviceUnavailable('API keys cannot be checked right now; try again shortly');
  return key;
}

export async function insertKey(
  sql: Sql,
  key: Omit<KeyRow, 'id' | 'last_used_at' | 'retires_at' | 'revoked_at'>,
): Promise<KeyRow> {
  const [row] = await sql<KeyRow[]>`
    insert into keys (account_id, name, mode, scopes, allowed_addresses, per_minute, burst, hash, last4, created_at,
      expires_at)
    values (${key.account_id}, ${key.name}, ${key.mode}, ${key.scopes}::text[], ${key.allowed_addresses}::text[],
      ${key.per_minute}, ${key.burst}, ${key.hash}, ${key.last4}, ${key.created_at}, ${key.expires_at})
    returning *`;
  return row!;
}

/** The keys visible to a caller: those of an account, or only those of one mode. */
export interface SeenKeys {
  account_id: string;
  mode?: KeyRow['mode'] | undefined;
}

const isSeen = (sql: Sql, { account_id, mode }: SeenKeys) =>
  sql`account_id = ${account_id} ${mode ? sql`and mode = ${mode}` : sql``}`;

/** The visible keys that work, as the part of a statement after `from`. */
export const workingKeys = (sql: Sql, seen: SeenKeys, now: Date) => sql`
  keys where ${isSeen(sql, seen)} and revoked_at is null and coalesce(least(expires_at, retires_at) > ${now}, true)`;

/** Returns a key by id, and only a visible one if `seen` is given. */
export async function findKey(sql: Sql, id: string, seen?: SeenKeys, lock = sql``): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select * from keys where id = ${id} ${seen ? sql`and ${isSeen(sql, seen)}` : sql``} ${lock}`;
  return row;
}

/** Finds a key and locks it until the transaction ends, so that concurrent rotations and revocations see each other's result. */
export const lockKey = (tx: Sql, id: string, seen?: SeenKeys) => findKey(tx, id, seen, tx`for update`);

/** Returns keys by id. */
export async function selectKeysById(sql: Sql, ids: readonly string[]): Promise<KeyRow[]> {
  return await sql<KeyRow[]>`select * from keys where id = any(${[...ids]}::uuid[])`;
}

/** Revokes a key at once. */
export async function revokeKeyRow(tx: Sql, key: KeyRow, now: Date): Promise<void> {
  await tx`update keys set revoked_at = ${now} where account_id = ${key.account_id} and id = ${key.id}`;
}

/** Sets the retirement of a key to `at`, unless it is already earlier. */
export async function retireKey(tx: Sql, key: KeyRow, at: Date): Promise<void> {
  await tx`
    update keys set retires_at = least(retires_at, ${at})
    where account_id = ${key.account_id} and id = ${key.id}`;
}

/** Lists keys, newest first, after the key `after`. */
export async function selectKeys(sql: Sql, seen: SeenKeys, limit: number, after?: KeyRow): Promise<KeyRow[]> {
  return await sql<KeyRow[]>`
    select * from keys
    where ${isSeen(sql, seen)}
      ${after ? sql`and (created_at, id) < (${after.created_at}, ${after.id})` : sql``}
    order by created_at desc, id desc limit ${limit}`;
}

/** Saves when keys were last used, in one statement. A later time is never overwritten by an earlier one. */
export async function saveUses(sql: Sql, uses: { ownerId: string; keyId: string; usedAtMs: number }[]): Promise<void> {
  await sql`
    update keys set last_used_at = greatest(last_used_at, to_timestamp(used.at_ms / 1000.0))
    from (
      select * from unnest(${uses.map((use) => use.ownerId)}::uuid[], ${uses.map((use) => use.keyId)}::uuid[],
        ${uses.map((use) => use.usedAtMs)}::bigint[]) as used (account_id, id, at_ms)
      order by 1, 2
    ) as used
    where keys.account_id = used.account_id and keys.id = used.id`;
}
