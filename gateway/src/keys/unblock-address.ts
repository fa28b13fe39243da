import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';

/** Unblocks an address, on every gateway within a second; its count of invalid keys begins again. */
export const unblockAddress = implement(adminOperations.unblockAddress, {
  async handle({ params, resources, fail }) {
    if (!(await resources.guard.unblock(params.address))) fail('not_found', 'This address is not blocked');
    return undefined;
  },
});
