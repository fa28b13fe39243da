import type { AccountContext } from '@customer-platform/contracts/core';
import { AccountDirectory, createLogger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AccountStandings } from './account-standings.ts';

const standings: AccountStandings[] = [];
afterEach(async () => {
  await Promise.all(standings.splice(0).map((one) => one.stop()));
});

/** Standings that ask `fetch`; `settled` waits until something was learned, or not, of accounts so many times. */
function standingsOf(fetch: (accountId: string) => Promise<AccountContext | null>) {
  const directory = new AccountDirectory(fetch);
  const learned: string[] = [];
  const log = createLogger('webhooks', 'silent');
  const made = new AccountStandings({ accounts: directory, log, learned: (accountId) => learned.push(accountId) });
  standings.push(made);
  const settled = (times: number) => waitFor('an answer', () => learned.length >= times);
  return { made, directory, settled };
}

const account = (suspended: boolean) => ({ suspended }) as AccountContext;

describe('AccountStandings', () => {
  it('lets nothing out before it knows the account, and nothing of one that is suspended, until that ends', async () => {
    let isSuspended = false;
    const { made, directory, settled } = standingsOf(async () => account(isSuspended));
    expect(made.maySend('a')).toBe(false);
    await settled(1);
    expect([made.maySend('a'), made.suspended()]).toEqual([true, []]);
    isSuspended = true;
    directory.forget('a');
    expect(made.maySend('a')).toBe(false);
    await settled(2);
    expect([made.maySend('a'), made.suspended()]).toEqual([false, ['a']]);
    isSuspended = false;
    directory.forget('a');
    // Asking who is suspended asks for what is not known any more.
    expect(made.suspended()).toEqual(['a']);
    await settled(3);
    expect([made.suspended(), made.maySend('a')]).toEqual([[], true]);
  });

  it('where the gateway does not answer goes by what was last known, and asks seldom', async () => {
    let asked = 0;
    let isReplying = true;
    const { made, directory, settled } = standingsOf(async (accountId) => {
      asked++;
      if (!isReplying) throw new Error('no answer');
      return account(accountId === 'suspended');
    });
    made.maySend('suspended');
    await settled(1);
    expect(made.suspended()).toEqual([]);
    expect([made.maySend('suspended'), made.suspended()]).toEqual([false, ['suspended']]);
    isReplying = false;
    directory.forget('all');
    made.maySend('suspended');
    await settled(2);
    made.maySend('new');
    await settled(3);
    for (let i = 0; i < 1000; i++) expect([made.maySend('suspended'), made.maySend('new')]).toEqual([false, true]);
    expect(asked).toBe(3);
  });

  it('an account that is none sends what it has', async () => {
    const { made, settled } = standingsOf(async () => null);
    made.maySend('gone');
    await settled(1);
    expect(made.maySend('gone')).toBe(true);
  });
});
