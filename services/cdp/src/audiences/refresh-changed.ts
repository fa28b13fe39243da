import type { AccountContext } from '@customer-platform/contracts/core';
import {
  isStatementTimeout,
  type Job,
  LRUCache,
  RoundAbandoned,
  type Scope,
  type Sql,
  type WorkCall,
} from '@customer-platform/service-kit';
import { beforeFirst, claimAccount } from '../accounts/claim-account.ts';
import { withRoundsApart } from '../accounts/rounds-apart.ts';
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

/** Rows of a missing account that are dropped at once. */
const batch = 10_000;
const timeoutMs = 30_000;
/** Pause of an account after a failure, or while its events are behind, so that other accounts are served. */
const coolDownMs = 10_000;
const maxCoolingDown = 10_000;
/**
 * Bounds of a round of the `quick` worker. One changed contact can take 90 s if an account has 1,000 audiences with expensive rules; two such
 * customers occupy both other workers. The quick worker leaves such an account to them for ten minutes.
 */
const quick: RoundBounds = { contacts: 500, ms: 2_000 };
const deferredMs = 600_000;
const everyMs = { usual: 250, quick: 1_000 };

/** Bounds of a round: changed contacts, re-evaluations, and milliseconds for all audiences together (unlimited if omitted). */
interface RoundBounds {
  contacts: number;
  ms?: number;
}

/**
 * Keeps audiences up to date: re-evaluates changed contacts and those whose re-evaluation is due, of one account per round. Rounds alternate between
 * changes and due re-evaluations. `worker` distinguishes jobs that run concurrently. The `quick` one serves accounts that would wait minutes behind
 * long rounds of others; it ignores sandbox clocks.
 */
export function refreshChangedContacts(worker: number | 'quick'): Job<unknown> {
  if (worker === 'quick') return makeRefresh(worker);
  // One round processes the changes and the due re-evaluations of an account, so `due` watches both.
  return { ...withRoundsApart(() => makeRefresh(worker)), due: { name: 'audience_work', due: 'due_at' } };
}

function makeRefresh(worker: number | 'quick'): Job<unknown> {
  const coolingDown = new LRUCache<string, true>({ max: maxCoolingDown, ttl: coolDownMs });
  const isQuick = worker === 'quick';
  /** The last account that was served, by kind of work. */
  const after = { changed: beforeFirst, scheduled: beforeFirst };
  let isScheduledNext = false;

  /** Yields each account with work once, starting with the next in turn. Sets `found.kind` to the kind of the last yielded. */
  async function* candidates(tx: Sql, now: Date, scope: Scope, found: { kind?: keyof typeof after }) {
    if (scope.account !== undefined) {
      if (!coolingDown.has(scope.account) && (await hasChanged(tx, scope.account, now))) yield scope.account;
      return;
    }
    const busy = [...coolingDown.keys()];
    const next = {
      changed: () => nextChangedAccount(tx, { scope, after: after.changed, but: busy }),
      scheduled: () => nextAccountToReevaluate(tx, { scope, after: after.scheduled, but: busy }, now),
    };
    const kinds = isScheduledNext ? (['scheduled', 'changed'] as const) : (['changed', 'scheduled'] as const);
    for (const kind of kinds) {
      for (let id = await next[kind](); id !== undefined; id = await next[kind]()) {
        busy.push(id);
        found.kind = kind;
        yield id;
      }
    }
  }

  return {
    name: `refresh-changed-contacts-${worker}`,
    watched: [
      { name: 'changed_contacts', due: null },
      { name: 'audience_flips', due: 'flips_at' },
    ],
    everyMs: isQuick ? everyMs.quick : everyMs.usual,
    statementMs: timeoutMs,
    async run(call, scope) {
      const { tx, now } = call;
      const found: { kind?: keyof typeof after } = {};
      const claimed = await claimAccount(call, candidates(tx, now, scope, found), {
        lock: 'audiences',
        missing: 'dropped changed contacts of a missing account',
        drop: async (_tx, id) => [await takeChanged(tx, id, batch), await takeReevaluations(tx, id, now, batch)],
      });
      if (!claimed) return false;
      if (found.kind) after[found.kind] = claimed.id;
      isScheduledNext = !isScheduledNext;
      const { account } = claimed;
      if (!account) return true;
      // Advancing a sandbox clock processes all due work, so there is no pause for a sandbox.
      if (!scope.account && (await isBehind(tx, account.id))) {
        coolingDown.set(account.id, true);
        return true;
      }
      if (await announceNext(call, account)) return true;
      try {
        await refreshChanged(call, account, isQuick ? quick : undefined);
      } catch (error) {
        const isTooLong = error instanceof RoundAbandoned || (isQuick && isStatementTimeout(error));
        coolingDown.set(account.id, true, isTooLong ? { ttl: deferredMs } : {});
        throw isTooLong ? new RoundAbandoned() : error;
      }
      coolingDown.delete(account.id);
      return true;
    },
  };
}

/** Re-evaluates contacts of a claimed account in all its ready audiences. Without `bounds`, the round size adapts to the account. */
export async function refreshChanged(
  call: WorkCall<unknown>,
  account: AccountContext,
  bounds?: RoundBounds,
): Promise<void> {
  if (bounds) await refreshSome(call, account, bounds);
  else await sizedRound(account.id, (contacts) => refreshSome(call, account, { contacts }));
}

/** Returns the number of contacts or re-evaluations taken, whichever is larger. */
async function refreshSome(
  call: WorkCall<unknown>,
  account: AccountContext,
  { contacts, ms }: RoundBounds,
): Promise<number> {
  const { tx, now } = call;
  const [taken, due, ready] = await Promise.all([
    takeChanged(tx, account.id, contacts),
    takeReevaluations(tx, account.id, now, contacts),
    selectReady(tx, account.id),
  ]);
  const changed = new Set(taken);
  const reevaluations = Map.groupBy(due, (each) => each.audience_id);
  // Built for one audience at a time: lists for all audiences would take too much memory.
  const contactsOf = ({ id }: Target) => {
    const scheduled = reevaluations.get(id)?.map((each) => each.contact_id) ?? [];
    return [...changed, ...scheduled.filter((contactId) => !changed.has(contactId))];
  };
  const targets = changed.size > 0 ? ready : ready.filter(({ id }) => reevaluations.has(id));
  if (targets.length > 0)
    await refreshMembership(call, account, targets, { timeoutMs: ms ?? timeoutMs, roundMs: ms, contactsOf });
  return Math.max(changed.size, due.length);
}
