import { adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';

/** Lists the client addresses with invalid keys in the last hour, most first. */
export const listAddresses = implement(adminOperations.listAddresses, {
  async handle({ query, prefetch, resources: { invalidKeys } }) {
    const addresses = prefetch(() => invalidKeys.list());
    return await readPage(query, {
      position: async (cursor) => addresses.find(({ address }) => address === cursor),
      rows: async (after, limit) => {
        const begin = after ? addresses.indexOf(after) + 1 : 0;
        return addresses.slice(begin, begin + limit);
      },
      bytes: fewBytes,
      item: ({ address, invalidKeys: count, lastAtMs }) => ({
        address,
        invalid_keys: count,
        last_at: formatInstant(new Date(lastAtMs), 'UTC'),
      }),
      cursor: 'address',
    });
  },
});
