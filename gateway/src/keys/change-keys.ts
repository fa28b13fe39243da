import type { Key, KeyInput, KeyWithSecret } from '@customer-platform/contracts/accounts';
import { ApiError, type Page } from '@customer-platform/contracts/core';
import { fewBytes, formatInstant, readPage, type Sql, uuidCursor } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { AccountRow } from '../accounts/accounts.sql.ts';
import { type Acting, recordChange } from '../audit/record-change.ts';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { parseRange } from '../http/request-head.ts';
import { hashOfKey, newKey } from './key-format.ts';
import { findKey, insertKey, type KeyRow, retireKey, revokeKeyRow, type SeenKeys, selectKeys } from './keys.sql.ts';

/** A call of an operator or a key that changes keys. The caller calls `changes.announce` after the commit. */
interface Changing extends Acting {
  resources: { changes: ChangeFeed };
}
type Shown = z.output<typeof KeyWithSecret>;

/** Issues a key to an account. A sandbox has no keys of its own: the test keys of its account act on it. */
export async function issueKey(
  call: Acting,
  owner: Pick<AccountRow, 'account_id' | 'parent_id' | 'timezone'>,
  { expires_at, rate_limit, ...wanted }: z.output<typeof KeyInput>,
): Promise<Shown> {
  const { tx, now } = call;
  if (expires_at && expires_at <= now) throw invalid('expires_at', 'expires_at must be in the future');
  for (const range of wanted.allowed_addresses) {
    try {
      parseRange(range);
    } catch (error) {
      throw invalid('allowed_addresses', `allowed_addresses: ${(error as Error).message}`);
    }
  }
  if (owner.parent_id !== null) {
    const message = `A sandbox has no keys; create one of mode test for its account ${owner.parent_id}`;
    throw new ApiError('invalid_state', message);
  }
  const { key, row } = await insertNew(tx, {
    ...wanted,
    account_id: owner.account_id,
    scopes: [...new Set(wanted.scopes)],
    per_minute: rate_limit?.per_minute ?? null,
    burst: rate_limit?.burst ?? null,
    created_at: now,
    expires_at: expires_at ?? null,
  });
  const after = toKey(row, owner.timezone);
  await recordChange(call, { action: 'keys.create', target: `keys/${row.id}`, account: row.account_id }, { after });
  return { ...after, key };
}

/** Lists keys, newest first, including revoked and expired ones. */
export async function pageOfKeys(
  sql: Sql,
  seen: SeenKeys & Pick<AccountRow, 'timezone'>,
  query: Parameters<typeof readPage>[0],
): Promise<Page<z.output<typeof Key>>> {
  return await readPage(query, {
    position: (cursor) => findKey(sql, uuidCursor(cursor), seen),
    rows: (after, limit) => selectKeys(sql, seen, limit, after),
    bytes: fewBytes,
    item: (row) => toKey(row, seen.timezone),
    cursor: 'id',
  });
}

/**
 * Issues a key with the same rights. The old key, whose row must be locked, ends after the overlap, or at its own expiry if that is earlier. The
 * overlap does not limit successors: they keep the original expiry, however often the key is rotated.
 */
export async function replaceKey(
  call: Changing,
  found: KeyRow,
  { overlap_seconds }: { overlap_seconds: number },
  timezone: string,
): Promise<Shown> {
  const { tx, now, resources } = call;
  if (found.revoked_at) throw new ApiError('invalid_state', 'This key is revoked; create a new one instead');
  const end = endOf(found);
  if (end && end <= now) throw new ApiError('invalid_state', 'This key has expired; create a new one instead');
  const { key, row } = await insertNew(tx, { ...found, created_at: now });
  await retireKey(tx, found, new Date(now.getTime() + overlap_seconds * 1_000));
  await resources.changes.record(tx, found.account_id);
  const changed = { action: 'keys.rotate', target: `keys/${found.id}`, account: found.account_id } as const;
  await recordChange(call, changed, { after: { successor: row.id, overlap_seconds } });
  return { ...toKey(row, timezone), key };
}

/** Revokes a key at once, and on every gateway within a second. The key's row must be locked. */
export async function endKey(call: Changing, found: KeyRow): Promise<undefined> {
  if (found.revoked_at) return;
  await revokeKeyRow(call.tx, found, call.now);
  await call.resources.changes.record(call.tx, found.account_id);
  const changed = { action: 'keys.revoke', target: `keys/${found.id}`, account: found.account_id } as const;
  await recordChange(call, changed, { before: { name: found.name, last4: found.last4 } });
}

/** Creates a secret and inserts its row. */
async function insertNew(tx: Sql, wanted: Omit<Parameters<typeof insertKey>[1], 'hash' | 'last4'>) {
  const key = newKey(wanted.mode);
  const hash = Buffer.from(hashOfKey(key), 'base64');
  return { key, row: await insertKey(tx, { ...wanted, hash, last4: key.slice(-4) }) };
}

function invalid(field: string, message: string): ApiError {
  return new ApiError('invalid_request', message, { field });
}

/** Returns a key's own rate limit, or null if the account's applies. */
export function ownRateOf({ per_minute, burst }: KeyRow): z.output<typeof Key>['rate_limit'] {
  return per_minute === null ? null : { per_minute, burst: burst! };
}

/** Returns the end of a key: its expiry, or its retirement by a rotation if that is earlier. Null means never. */
export function endOf({ expires_at, retires_at }: KeyRow): Date | null {
  if (!expires_at || !retires_at) return expires_at ?? retires_at;
  return expires_at < retires_at ? expires_at : retires_at;
}

/** Returns a key as the API shows it, with times in its account's zone. */
function toKey(row: KeyRow, timezone: string): z.output<typeof Key> {
  const { id, name, mode, scopes, allowed_addresses, last4 } = row;
  const shown = (at: Date | null) => at && formatInstant(at, timezone);
  return {
    ...{ id, name, mode, scopes, allowed_addresses, last4 },
    rate_limit: ownRateOf(row),
    created_at: formatInstant(row.created_at, timezone),
    last_used_at: shown(row.last_used_at),
    expires_at: shown(endOf(row)),
    revoked_at: shown(row.revoked_at),
  };
}
