import { expect, it } from '@jest/globals';
import { account } from '../../test/account.ts';
import { AccountDirectory } from './account-directory.ts';

it('knows the accounts that it fetched, and fetches each once', async () => {
  const asked: string[] = [];
  const directory = new AccountDirectory(async (id) => {
    asked.push(id);
    return id === account.id ? account : null;
  });
  expect(directory.known(account.id)).toBeUndefined();
  await directory.fetch([account.id, 'nobody', account.id]);
  expect([directory.known(account.id), directory.known('nobody')]).toEqual([account, null]);
  expect(asked.sort()).toEqual([account.id, 'nobody']);
});

it('forgets an account that changes, even while it is being fetched', async () => {
  const { promise: changed, resolve: change } = Promise.withResolvers<void>();
  const replies = [account, { ...account, suspended: true }];
  const directory = new AccountDirectory(async () => {
    const reply = replies.shift()!;
    if (!reply.suspended) await changed;
    return reply;
  });
  const learned = directory.fetch([account.id]);
  directory.forget(account.id);
  change();
  await learned;
  expect(directory.known(account.id)?.suspended).toBe(true);
  directory.forget('all');
  expect(directory.known(account.id)).toBeUndefined();
});
