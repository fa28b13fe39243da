import type { AccountContext } from '@customer-platform/contracts/core';
import type { Job, WorkCall } from '@customer-platform/service-kit';
import {
  nextAccountToReevaluate,
  nextChangedAccount,
  selectReady,
  takeChanged,
  takeReevaluations,
} from './changed-contacts.sql.ts';
import { refreshMembership, takeAccount } from './refresh-membership.ts';

const batch = 10_000;
const timeoutMs = 30_000;
const beforeAll = '00000000-0000-0000-0000-000000000000';
/** Pause of an account after a failure, so that the others do not wait for it. */
const restMs = 10_000;

/**
 * Keeps audiences up to date: re-evaluates changed contacts and those whose re-evaluation is due, of one account per
 * round. Accounts alternate, one with changes, then one with due re-evaluations. `worker` distinguishes jobs that run
 * side by side.
 */
export function refreshChangedContacts(worker: number): Job<unknown> {
  const resting = new Map<string, number>();
  let after = beforeAll;
  let isScheduledNext = false;

  /** Takes the next account; returns 'none' if there is nothing to do that no other job does already. */
  async function takeTurn(call: WorkCall<unknown>) {
    const { tx, now, log, findAccounts } = call;
    const busy = [...resting].filter(([, until]) => until > performance.now()).map(([id]) => id);
    const changed = async () =>
      (await nextChangedAccount(tx, after, busy)) ?? (await nextChangedAccount(tx, beforeAll, busy));
    const scheduled = () => nextAccountToReevaluate(tx, now, busy);
    for (;;) {
      const accountId = isScheduledNext
        ? ((await scheduled()) ?? (await changed()))
        : ((await changed()) ?? (await scheduled()));
      if (accountId === undefined) return 'none';
      busy.push(accountId);
      if (!(await takeAccount(tx, accountId))) continue;
      const account = findAccounts([accountId]).get(accountId);
      if (!isScheduledNext) after = accountId;
      isScheduledNext = !isScheduledNext;
      if (account) return account;
      log.error({ account: accountId }, 'changed contacts without an account dropped');
      await takeChanged(tx, accountId, batch);
      await takeReevaluations(tx, accountId, now, batch);
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

/** Re-evaluates some contacts of an account, which must be taken, in all of its ready audiences. */
export async function refreshChanged(call: WorkCall<unknown>, account: AccountContext): Promise<void> {
  const { tx, now } = call;
  const changed = await takeChanged(tx, account.id, batch);
  const reevaluations = Map.groupBy(await takeReevaluations(tx, account.id, now, batch), (each) => each.audience_id);
  const targets = (await selectReady(tx, account.id)).map((audience) => {
    const due = reevaluations.get(audience.id)?.map((each) => each.contact_id) ?? [];
    return { ...audience, contactIds: [...new Set([...changed, ...due])] };
  });
  const touched = targets.filter(({ contactIds }) => contactIds.length > 0);
  if (touched.length > 0) await refreshMembership(call, account, touched, timeoutMs);
}
