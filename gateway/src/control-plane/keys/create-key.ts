import { adminOperations } from '@customer-platform/contracts/accounts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { parseRange } from '../../http/client-address.ts';
import { hashOfKey, newKey } from '../../keys/key-format.ts';
import { toKey } from '../../keys/key-shape.ts';
import { insertKey } from '../../keys/keys.sql.ts';
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
