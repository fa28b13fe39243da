import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';

/** Unblocks an address, on every gateway within a second; its count of invalid keys begins again. */
export const unblockAddress = implement(adminOperations.unblockAddress, {
  async handle({ params: { address }, prefetch, resources: { guard } }) {
    prefetch((call) =>
      recordAround(call, { action: 'addresses.unblock', target: `addresses/${address}` }, async () => {
        if (!(await guard.unblock(address))) throw new ApiError('not_found', 'This address is not blocked');
        return { isChanged: true, result: undefined };
      }),
    );
    return undefined;
  },
});
