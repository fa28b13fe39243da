import { adminOperations, type BlockedAddress } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { type AddressBlock, isShared } from '../../limits/blocked-addresses.ts';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';

/** Lists the addresses that are blocked for too many invalid keys, those whose block ends last first. */
export const listAddresses = implement(adminOperations.listAddresses, {
  async handle({ query, resources }) {
    const blocks = resources.guard.list();
    return await readPage(query, {
      position: async (cursor) => blocks.find(({ address }) => address === cursor),
      rows: async (after, limit) => {
        const begin = after ? blocks.indexOf(after) + 1 : 0;
        return blocks.slice(begin, begin + limit);
      },
      bytes: fewBytes,
      item: toAddress,
      cursor: 'address',
    });
  },
});

function toAddress(block: AddressBlock): z.output<typeof BlockedAddress> {
  return {
    address: block.address,
    invalid_keys: block.invalidKeys,
    blocked_until: formatInstant(block.until, 'UTC'),
    shared: isShared(block),
  };
}

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
