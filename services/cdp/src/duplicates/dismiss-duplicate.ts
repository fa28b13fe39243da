import * as contract from '@customer-platform/contracts/cdp';
import { holdIdentities } from '../contacts/identities.sql.ts';
import { implement } from '../implement.ts';
import { decidedAlready, toDuplicatePair } from './duplicate.ts';
import { decideDuplicate, lockDuplicate } from './duplicates.sql.ts';

export const dismissDuplicate = implement(contract.dismissDuplicate, {
  async find({ account, params, tx }) {
    await holdIdentities(tx, [account.id]);
    return await lockDuplicate(tx, account.id, params.duplicate_id);
  },
  async handle({ account, found, tx, fail }) {
    if (found.status !== 'open') return fail('invalid_state', decidedAlready(found));
    await decideDuplicate(tx, account.id, found.id, 'dismissed');
    return toDuplicatePair(found);
  },
});
