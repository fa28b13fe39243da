import { adminOperations } from '@customer-platform/contracts/accounts';
import { lockKey, revokeKeyRow } from '../../keys/keys.sql.ts';
import { implement } from '../admin-operation.ts';
import { recordChange } from '../audit/record-change.ts';

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
