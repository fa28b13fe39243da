import { adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage, uuidCursor } from '@customer-platform/service-kit';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { parseRange } from '../../http/request-head.ts';
import { hashOfKey, newKey } from '../../keys/key-format.ts';
import { endOf, toKey } from '../../keys/key-shape.ts';
import { findKeyOfAccount, insertKey, lockKey, retireKey, revokeKeyRow, selectKeys } from '../../keys/keys.sql.ts';
import { implement } from '../admin-operation.ts';
import { recordChange } from '../audit/record-change.ts';

/** Issues a key. A sandbox has none of its own: the test keys of its account act on it. */
export const createKey = implement(adminOperations.createKey, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle(call) {
    const { tx, found, body, now, fail } = call;
    if (body.expires_at && body.expires_at <= now)
      fail('invalid_request', 'expires_at must be in the future', 'expires_at');
    for (const range of body.allowed_addresses) {
      try {
        parseRange(range);
      } catch (error) {
        fail('invalid_request', `allowed_addresses: ${(error as Error).message}`, 'allowed_addresses');
      }
    }
    if (found.parent_id !== null) {
      fail('invalid_state', `A sandbox has no keys; create one of mode test for its account ${found.parent_id}`);
    }
    const key = newKey(body.mode);
    const row = await insertKey(tx, {
      account_id: found.account_id,
      name: body.name,
      mode: body.mode,
      scopes: [...new Set(body.scopes)],
      allowed_addresses: body.allowed_addresses,
      per_minute: body.rate_limit?.per_minute ?? null,
      burst: body.rate_limit?.burst ?? null,
      hash: Buffer.from(hashOfKey(key), 'base64'),
      last4: key.slice(-4),
      created_at: now,
      expires_at: body.expires_at ?? null,
    });
    const after = toKey(row, found.timezone);
    await recordChange(call, { action: 'keys.create', target: `keys/${row.id}`, account: found.account_id }, { after });
    return { ...after, key };
  },
});

/** Lists the keys that were issued to an account, newest first; a sandbox has none. */
export const listKeys = implement(adminOperations.listKeys, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    return await readPage(query, {
      position: (cursor) => findKeyOfAccount(tx, found.account_id, uuidCursor(cursor)),
      rows: (after, limit) => selectKeys(tx, found.account_id, limit, after),
      bytes: fewBytes,
      item: (row) => toKey(row, found.timezone),
      cursor: 'id',
    });
  },
});

/**
 * Issues a key with the same rights; the old one ends after the overlap, or when it would have ended anyway. The
 * overlap's end is the old key's alone: however often it is rotated, its successors end when it was issued to end.
 */
export const rotateKey = implement(adminOperations.rotateKey, {
  find: ({ tx, params }) => lockKey(tx, params.key_id),
  async handle(call) {
    const { tx, found, body, now, fail, resources } = call;
    if (found.revoked_at) fail('invalid_state', 'This key is revoked; create a new one instead');
    const end = endOf(found);
    if (end && end <= now) fail('invalid_state', 'This key has expired; create a new one instead');
    const key = newKey(found.mode);
    const successor = await insertKey(tx, {
      ...found,
      hash: Buffer.from(hashOfKey(key), 'base64'),
      last4: key.slice(-4),
      created_at: now,
    });
    await retireKey(tx, found, new Date(now.getTime() + body.overlap_seconds * 1_000));
    await resources.changes.record(tx, found.account_id);
    const account = await findAccountRow(tx, found.account_id);
    const after = { successor: successor.id, overlap_seconds: body.overlap_seconds };
    const change = { action: 'keys.rotate' as const, target: `keys/${found.id}`, account: found.account_id };
    await recordChange(call, change, { after });
    return { ...toKey(successor, account!.timezone), key };
  },
  committed: ({ changes }) => changes.announce(),
});

/** Revokes a key at once, on every gateway within a second. */
export const revokeKey = implement(adminOperations.revokeKey, {
  find: ({ tx, params }) => lockKey(tx, params.key_id),
  async handle(call) {
    const { tx, found, now, resources } = call;
    if (found.revoked_at) return undefined;
    await revokeKeyRow(tx, found, now);
    await resources.changes.record(tx, found.account_id);
    const change = { action: 'keys.revoke' as const, target: `keys/${found.id}`, account: found.account_id };
    await recordChange(call, change, { before: { name: found.name, last4: found.last4 } });
    return undefined;
  },
  committed: ({ changes }) => changes.announce(),
});

/** Lists the client addresses with invalid keys in the last hour, most first. */
export const listAddresses = implement(adminOperations.listAddresses, {
  async handle({ query, prefetch, resources: { invalidKeys } }) {
    const addresses = prefetch(() => invalidKeys.list());
    return await readPage(query, {
      position: async (cursor) => addresses.find(({ address }) => address === cursor),
      rows: async (after, limit) => {
        const begin = after ? addresses.indexOf(after) + 1 : 0;
        return addresses.slice(begin, begin + limit);
      },
      bytes: fewBytes,
      item: ({ address, invalidKeys: count, lastAtMs }) => ({
        address,
        invalid_keys: count,
        last_at: formatInstant(new Date(lastAtMs), 'UTC'),
      }),
      cursor: 'address',
    });
  },
});
