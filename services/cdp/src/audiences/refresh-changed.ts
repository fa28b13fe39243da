import type { AccountContext } from '@customer-platform/contracts/core';
import {
  isStatementTimeout,
  type Job,
  LRUCache,
  RoundLeft,
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

/** Work of a missing account that is dropped at once. */
const batch = 10_000;
const timeoutMs = 30_000;
/** Pause of an account after a failure, or that is behind with its events, so that the others do not wait for it. */
const restMs = 10_000;
const maxResting = 10_000;
/**
 * A round of the worker that is `quick`: an account with a thousand audiences of dear rules takes a minute and a half for one changed contact, and two such
 * customers have the other workers. It leaves an account that takes longer to them for ten minutes.
 */
const quick: RoundBounds = { contacts: 500, ms: 2_000 };
const leftMs = 600_000;
const everyMs = { usual: 250, quick: 1_000 };

/** Bounds of a round: changed contacts, re-evaluations, and the time of all audiences together, any unless given. */
interface RoundBounds {
  contacts: number;
  ms?: number;
}

/**
 * Keeps audiences up to date: re-evaluates changed contacts and those whose re-evaluation is due, of one account per
 * round. Accounts alternate, one with changes, then one with due re-evaluations. `worker` distinguishes jobs that run
 * side by side; one that is `quick` is there for those who would wait for minutes behind others' rounds, and goes by no
 * account's clock.
 */
export function refreshChangedContacts(worker: number | 'quick'): Job<unknown> {
  if (worker === 'quick') return makeRefresh(worker);
  // Changes and what is due of an account are one round's.
  return { ...withRoundsApart(() => makeRefresh(worker)), due: { name: 'audience_work', due: 'due_at' } };
}

function makeRefresh(worker: number | 'quick'): Job<unknown> {
  const resting = new LRUCache<string, true>({ max: maxResting, ttl: restMs });
  const isQuick = worker === 'quick';
  /** The last account of each kind of work. */
  const after = { changed: beforeFirst, scheduled: beforeFirst };
  let isScheduledNext = false;

  /** Yields accounts with work, the next one first; none twice. `found` gets the kind of work of the last. */
  async function* candidates(tx: Sql, now: Date, scope: Scope, found: { kind?: keyof typeof after }) {
    if (scope.account !== undefined) {
      if (!resting.has(scope.account) && (await hasChanged(tx, scope.account, now))) yield scope.account;
      return;
    }
    const busy = [...resting.keys()];
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
        missing: 'changed contacts without an account dropped',
        drop: async (_tx, id) => [await takeChanged(tx, id, batch), await takeReevaluations(tx, id, now, batch)],
      });
      if (!claimed) return false;
      if (found.kind) after[found.kind] = claimed.id;
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
        await refreshChanged(call, account, isQuick ? quick : undefined);
      } catch (error) {
        const isTooLong = error instanceof RoundLeft || (isQuick && isStatementTimeout(error));
        resting.set(account.id, true, isTooLong ? { ttl: leftMs } : {});
        throw isTooLong ? new RoundLeft() : error;
      }
      resting.delete(account.id);
      return true;
    },
  };
}

/** Re-evaluates some contacts of an account, which must be claimed, in all of its ready audiences: as many as fit into a round, unless `bounds` say how many. */
export async function refreshChanged(
  call: WorkCall<unknown>,
  account: AccountContext,
  bounds?: RoundBounds,
): Promise<void> {
  if (bounds) await refreshSome(call, account, bounds);
  else await sizedRound(account.id, (contacts) => refreshSome(call, account, { contacts }));
}

/** Returns how many contacts, or re-evaluations, it took. */
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
  // For each audience in its turn: together they would be a list of all contacts for each.
  const contactsOf = ({ id }: Target) => {
    const scheduled = reevaluations.get(id)?.map((each) => each.contact_id) ?? [];
    return [...changed, ...scheduled.filter((contactId) => !changed.has(contactId))];
  };
  const targets = changed.size > 0 ? ready : ready.filter(({ id }) => reevaluations.has(id));
  if (targets.length > 0)
    await refreshMembership(call, account, targets, { timeoutMs: ms ?? timeoutMs, roundMs: ms, contactsOf });
  return Math.max(changed.size, due.length);
}
