import { adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage } from '@customer-platform/service-kit';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { endKey, issueKey, pageOfKeys, replaceKey } from '../../keys/change-keys.ts';
import { lockKey } from '../../keys/keys.sql.ts';
import { implement } from '../admin-operation.ts';

/** Issues a key to an account. */
export const createKey = implement(adminOperations.createKey, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  handle: async (call) => await issueKey(call, call.found, call.body),
});

/** Lists the keys issued to an account, newest first. A sandbox has none. */
export const listKeys = implement(adminOperations.listKeys, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  handle: async ({ tx, found, query }) => await pageOfKeys(tx, found, query),
});

/** Replaces a key with one that has the same rights. */
export const rotateKey = implement(adminOperations.rotateKey, {
  find: ({ tx, params }) => lockKey(tx, params.key_id),
  async handle(call) {
    const account = await findAccountRow(call.tx, call.found.account_id);
    return await replaceKey(call, call.found, call.body, account!.timezone);
  },
  committed: ({ changes }) => changes.announce(),
});

/** Revokes a key. */
export const revokeKey = implement(adminOperations.revokeKey, {
  find: ({ tx, params }) => lockKey(tx, params.key_id),
  handle: async (call) => await endKey(call, call.found),
  committed: ({ changes }) => changes.announce(),
});

/** Lists the client addresses with invalid keys in the last hour, highest count first. */
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
