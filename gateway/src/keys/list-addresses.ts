import { adminOperations, type BlockedAddress } from '@customer-platform/contracts/accounts';
import { badCursor, formatInstant, toPage } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { implement } from '../admin-operation.ts';
import type { AddressBlock } from '../guard/blocked-addresses.ts';
import type { InvalidKeyGuard } from '../guard/invalid-key-guard.ts';

/** Lists the addresses that are blocked for too many invalid keys, those whose block ends last first. */
export const listAddresses = implement(adminOperations.listAddresses, {
  async handle({ query, resources: { guard } }) {
    const blocks = guard.list();
    const after = query.starting_after;
    const begin = after === undefined ? 0 : blocks.findIndex(({ address }) => address === after) + 1;
    if (after !== undefined && begin === 0) throw badCursor();
    const rows = blocks.slice(begin, begin + query.limit + 1);
    return toPage(
      rows,
      query.limit,
      (row) => toAddress(guard, row),
      (row) => row.address,
    );
  },
});

function toAddress(guard: InvalidKeyGuard, block: AddressBlock): z.output<typeof BlockedAddress> {
  return {
    address: block.address,
    invalid_keys: block.invalidKeys,
    blocked_until: formatInstant(block.until, 'UTC'),
    shared: guard.isShared(block),
  };
}
