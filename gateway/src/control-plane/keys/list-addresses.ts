import { adminOperations, type BlockedAddress } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { type AddressBlock, isShared } from '../../limits/blocked-addresses.ts';
import { implement } from '../admin-operation.ts';

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
