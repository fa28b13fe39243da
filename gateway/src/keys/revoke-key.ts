import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { lockKey, revokeKeyRow } from './keys.sql.ts';

/** Revokes a key at once, on every gateway within a second. */
export const revokeKey = implement(adminOperations.revokeKey, {
  find: ({ tx, params }) => lockKey(tx, params.key_id),
  async handle({ tx, found, now, resources }) {
    if (found.revoked_at) return undefined;
    await revokeKeyRow(tx, found, now);
    await resources.changes.record(tx, found.account_id);
    return undefined;
  },
  committed: ({ changes }) => changes.announce(),
});
