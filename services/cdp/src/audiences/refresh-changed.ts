import type { AccountContext } from '@customer-platform/contracts/core';
import { type Job, LRUCache, RoundLeft, type Scope, type Sql, type WorkCall } from '@customer-platform/service-kit';
import { beforeFirst, claimAccount } from '../accounts/claim-account.ts';
import { announceNext, isBehind } from './announce-moves.ts';
import {
  hasChanged,
  nextAccountToReevaluate,
  nextChangedAccount,
  selectReady,
  takeChanged,
  takeReevaluations,
} from './changed-contacts.sql.ts';
import type { Target } from './membership.sql.ts';
import { refreshMembership } from './refresh-membership.ts';
import { sizedRound } from './round-size.ts';

/** Work of a missing account that is dropped at once. */
const batch = 10_000;
const timeoutMs = 30_000;
/** Pause of an account after a failure, or that is behind with its events, so that the others do not wait for it. */
const restMs = 10_000;
const maxResting = 10_000;
/**
 * Time of a round of the worker that is `quick`: an account with a thousand audiences of dear rules takes a minute and a half for one changed contact, and two
 * such customers have the other workers. It leaves those accounts to them for ten minutes.
 */
const quickMs = 2_000;
const leftMs = 600_000;

/**
 * Keeps audiences up to date: re-evaluates changed contacts and those whose re-evaluation is due, of one account per
 * round. Accounts alternate, one with changes, then one with due re-evaluations. `worker` distinguishes jobs that run
 * side by side; one that is `quick` is there for those who would wait for minutes behind others' rounds.
 */
export function refreshChangedContacts(worker: number | 'quick'): Job<unknown> {
  return { ...makeRefresh(worker), byClock: makeRefresh(worker) };
}

function makeRefresh(worker: number | 'quick'): Job<unknown> {
  const resting = new LRUCache<string, true>({ max: maxResting, ttl: restMs });
  /** The last account of each kind of work. */
  const after = { changed: beforeFirst, scheduled: beforeFirst };
  let isScheduledNext = false;

  /** Yields accounts with work, the next one first; none twice. */
  async function* candidates(tx: Sql, now: Date, scope: Scope) {
    if (scope.account !== undefined) {
      if (await hasChanged(tx, scope.account, now)) yield scope.account;
      return;
    }
    const busy = [...resting.keys()];
    const changed = () => nextChangedAccount(tx, { scope, after: after.changed, but: busy });
    const scheduled = () => nextAccountToReevaluate(tx, { scope, after: after.scheduled, but: busy }, now);
    for (;;) {
      const accountId = isScheduledNext
        ? ((await scheduled()) ?? (await changed()))
        : ((await changed()) ?? (await scheduled()));
      if (accountId === undefined) return;
      busy.push(accountId);
      yield accountId;
    }
  }

  return {
    name: `refresh-changed-contacts-${worker}`,
    // Changes and what is due of an account are one round's.
    due: { name: 'audience_work', due: 'due_at' },
    watched: [
      { name: 'changed_contacts', due: null },
      { name: 'audience_flips', due: 'flips_at' },
    ],
    everyMs: 250,
    statementMs: timeoutMs,
    async run(call, scope) {
      const { tx, now } = call;
      const claimed = await claimAccount(call, candidates(tx, now, scope), {
        lock: 'audiences',
        missing: 'changed contacts without an account dropped',
        drop: async (_tx, id) => [await takeChanged(tx, id, batch), await takeReevaluations(tx, id, now, batch)],
      });
      if (!claimed) return false;
      after[isScheduledNext ? 'scheduled' : 'changed'] = claimed.id;
      isScheduledNext = !isScheduledNext;
      const { account } = claimed;
      if (!account) return true;
      // A sandbox's clock waits for all that is due.
      if (!scope.account && (await isBehind(tx, account.id))) {
        resting.set(account.id, true);
        return true;
      }
      if (await announceNext(call, account)) return true;
      try {
        await refreshChanged(call, account, worker === 'quick' ? quickMs : undefined);
      } catch (error) {
        resting.set(account.id, true, error instanceof RoundLeft ? { ttl: leftMs } : {});
        throw error;
      }
      resting.delete(account.id);
      return true;
    },
  };
}

/** Re-evaluates some contacts of an account, which must be claimed, in all of its ready audiences. */
export async function refreshChanged(
  call: WorkCall<unknown>,
  account: AccountContext,
  roundMs?: number,
): Promise<void> {
  await sizedRound(account.id, (size) => refreshSome(call, account, { size, roundMs }));
}

/** Returns how many contacts, or re-evaluations, it took. */
async function refreshSome(
  call: WorkCall<unknown>,
  account: AccountContext,
  { size, roundMs }: { size: number; roundMs: number | undefined },
): Promise<number> {
  const { tx, now } = call;
  const [taken, due, ready] = await Promise.all([
    takeChanged(tx, account.id, size),
    takeReevaluations(tx, account.id, now, size),
    selectReady(tx, account.id),
  ]);
  const changed = new Set(taken);
  const reevaluations = Map.groupBy(due, (each) => each.audience_id);
  // For each audience in its turn: together they would be a list of all contacts for each.
  const contactsOf = ({ id }: Target) => {
    const scheduled = reevaluations.get(id)?.map((each) => each.contact_id) ?? [];
    return [...changed, ...scheduled.filter((contactId) => !changed.has(contactId))];
  };
  const targets = changed.size > 0 ? ready : ready.filter(({ id }) => reevaluations.has(id));
  const bounds = { timeoutMs, ...(roundMs === undefined ? {} : { roundMs }) };
  if (targets.length > 0) await refreshMembership(call, account, targets, { ...bounds, contactsOf });
  return Math.max(changed.size, due.length);
}
