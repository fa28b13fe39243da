import { adminOperations } from '@customer-platform/contracts/accounts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { hashOfKey, newKey } from '../../keys/key-format.ts';
import { endOf, toKey } from '../../keys/key-shape.ts';
import { insertKey, lockKey, retireKey } from '../../keys/keys.sql.ts';
import { implement } from '../admin-operation.ts';
import { recordChange } from '../audit/record-change.ts';

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
