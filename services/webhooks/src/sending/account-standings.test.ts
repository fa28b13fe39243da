import type { AccountContext } from '@customer-platform/contracts/core';
import { AccountDirectory, createLogger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AccountStandings } from './account-standings.ts';

const standings: AccountStandings[] = [];
afterEach(async () => {
  await Promise.all(standings.splice(0).map((one) => one.stop()));
});

/** Creates standings that call `fetch`; `settled` waits until `learned` was called `times` times. */
function standingsOf(fetch: (accountId: string) => Promise<AccountContext | null>) {
  const directory = new AccountDirectory(fetch);
  const learned: string[] = [];
  const log = createLogger('webhooks', 'silent');
  const made = new AccountStandings({ accounts: directory, log, learned: (accountId) => learned.push(accountId) });
  standings.push(made);
  const settled = (times: number) => waitFor('a reply', () => learned.length >= times);
  return { made, directory, settled };
}

const account = (suspended: boolean) => ({ suspended }) as AccountContext;

describe('AccountStandings', () => {
  it('allows nothing before the account is known or while it is suspended', async () => {
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
    // Listing the suspended accounts fetches those that are no longer cached.
    expect(made.suspended()).toEqual(['a']);
    await settled(3);
    expect([made.suspended(), made.maySend('a')]).toEqual([[], true]);
  });

  it('uses the last known standing and retries rarely if the gateway does not reply', async () => {
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

  it('allows an unknown account to send', async () => {
    const { made, settled } = standingsOf(async () => null);
    made.maySend('gone');
    await settled(1);
    expect(made.maySend('gone')).toBe(true);
  });
});
