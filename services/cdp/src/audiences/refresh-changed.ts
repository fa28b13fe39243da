import type { AccountContext } from '@customer-platform/contracts/core';
import type { Job, WorkCall } from '@customer-platform/service-kit';
import { nextChangedAccount, nextFlippedAccount, selectReady, takeChanged, takeFlips } from './changed-contacts.sql.ts';
import { refreshMembership, takeAccount } from './refresh-membership.ts';

const batch = 10_000;
const timeoutMs = 30_000;
const beforeAll = '00000000-0000-0000-0000-000000000000';
/** How long an account is left alone in which it failed, so that the others don't wait for it. */
const restMs = 10_000;

/**
 * Keeps audiences up to date: looks again at the contacts that changed, and at those whom time can have moved, of one account a
 * round. Accounts come in turn, first one with changes, then one with due moments. `worker` tells jobs apart that run side by side.
 */
export function refreshChangedContacts(worker: number): Job<unknown> {
  const resting = new Map<string, number>();
  let after = beforeAll;
  let isTimesTurn = false;

  /** Takes the account whose turn it is; 'none' where there is nothing to be done that another job does not do already. */
  async function takeTurn(call: WorkCall<unknown>) {
    const { tx, now, log, findAccounts } = call;
    const busy = [...resting].filter(([, until]) => until > performance.now()).map(([id]) => id);
    const changed = async () =>
      (await nextChangedAccount(tx, after, busy)) ?? (await nextChangedAccount(tx, beforeAll, busy));
    const flipped = () => nextFlippedAccount(tx, now, busy);
    for (;;) {
      const accountId = isTimesTurn
        ? ((await flipped()) ?? (await changed()))
        : ((await changed()) ?? (await flipped()));
      if (accountId === undefined) return 'none';
      busy.push(accountId);
      if (!(await takeAccount(tx, accountId))) continue;
      const account = findAccounts([accountId]).get(accountId);
      if (!isTimesTurn) after = accountId;
      isTimesTurn = !isTimesTurn;
      if (account) return account;
      log.error({ account: accountId }, 'contacts that changed belong to no account; they are not looked at');
      await takeChanged(tx, accountId, batch);
      await takeFlips(tx, accountId, now, batch);
      return 'unknown';
    }
  }

  return {
    name: `refresh-changed-contacts-${worker}`,
    everyMs: 250,
    statementMs: timeoutMs,
    async run(call) {
      const account = await takeTurn(call);
      if (account === 'none' || account === 'unknown') return account === 'unknown';
      try {
        await refreshChanged(call, account);
      } catch (error) {
        resting.set(account.id, performance.now() + restMs);
        throw error;
      }
      resting.delete(account.id);
      return true;
    },
  };
}

/** Looks again at some contacts of an account, which must be taken, in all of its audiences that are ready. */
export async function refreshChanged(call: WorkCall<unknown>, account: AccountContext): Promise<void> {
  const { tx, now } = call;
  const changed = await takeChanged(tx, account.id, batch);
  const flips = Map.groupBy(await takeFlips(tx, account.id, now, batch), (flip) => flip.audience_id);
  const targets = (await selectReady(tx, account.id)).map((audience) => {
    const flipped = flips.get(audience.id)?.map((flip) => flip.contact_id) ?? [];
    return { ...audience, contactIds: [...new Set([...changed, ...flipped])] };
  });
  const touched = targets.filter(({ contactIds }) => contactIds.length > 0);
  if (touched.length > 0) await refreshMembership(call, account, touched, timeoutMs);
}
