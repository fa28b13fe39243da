import { audienceFailed } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import {
  isDatabaseUnavailable,
  isTemporaryFailure,
  type Job,
  LRUCache,
  type ReportedQueue,
  RoundLeft,
  type WorkCall,
} from '@customer-platform/service-kit';
import { type AccountWork, beforeFirst, claimAccount } from '../accounts/claim-account.ts';
import { withRoundsApart } from '../accounts/rounds-apart.ts';
import { announceNext, isBehind, tellReady } from './announce-moves.ts';
import { replacedBy, toAudience } from './audience.ts';
import { hasChanged } from './changed-contacts.sql.ts';
import {
  beginLater,
  countFailure,
  type DueAudience,
  dropDue,
  finishWhole,
  selectDueAccounts,
  selectDueAudience,
} from './due-audiences.sql.ts';
import { refreshChanged } from './refresh-changed.ts';
import { refreshMembership } from './refresh-membership.ts';

const timeoutMs = 300_000;
/** Time of a statement for a worker that leaves what takes longer to the others, and for how long it leaves the account to them. */
const quickTimeoutMs = 2_000;
const leftMs = 300_000;
const candidates = 20;
/** Rest of an account that is behind with its events. */
const restMs = 5_000;
const maxResting = 10_000;

const refreshes: AccountWork = {
  lock: 'audiences',
  missing: 'audiences without an account not refreshed',
  drop: dropDue,
};

const audiences: ReportedQueue = { queue: 'audiences', rows: { name: 'audiences', due: 'due_at' } };

/** A failed attempt: counted in its own transaction, because the one that it failed in is rolled back. */
interface Failure {
  account: AccountContext;
  audience: DueAudience;
  message: string;
}

/**
 * Refreshes one due audience as a whole per round, of one account after the other. All of it is one transaction, so that a process that dies leaves
 * nothing and another begins again. `worker` distinguishes jobs that run side by side, each for another account; one that is `quick` is there for
 * those who would wait for minutes behind others' large refreshes.
 */
export function refreshWhole(worker: number | 'quick'): Job<unknown> {
  return withRoundsApart(() => makeRefresh(worker));
}

function makeRefresh(worker: number | 'quick'): Job<unknown> {
  /** Failures by account: rounds by several clocks alternate. */
  const failures = new LRUCache<string, Failure>({ max: maxResting });
  let served: string | undefined;
  let after = beforeFirst;
  const resting = new LRUCache<string, true>({ max: maxResting, ttl: restMs });
  return {
    name: `refresh-audiences-${worker}`,
    queue: audiences,
    everyMs: 500,
    statementMs: timeoutMs,
    async run(call, scope) {
      const failure = scope.account === undefined ? [...failures.values()][0] : failures.get(scope.account);
      if (failure) {
        const { account, audience, message } = failure;
        failures.delete(account.id);
        await noteFailure(call, account, audience, message);
        return true;
      }
      const due = { after, resting: [...resting.keys()], limit: candidates, scope };
      const dueAccounts = await selectDueAccounts(call.tx, call.now, due);
      const claimed = await claimAccount(call, dueAccounts, refreshes);
      after = claimed?.id ?? beforeFirst;
      if (!claimed?.account) return claimed !== undefined;
      const { account } = claimed;
      // A sandbox's clock waits for all that is due.
      if (!scope.account && (await isBehind(call.tx, account.id))) {
        resting.set(account.id, true);
        await beginLater(call.tx, account.id, call.now);
        return true;
      }
      if (await announceNext(call, account)) return true;
      // Many audiences of one account in a row must not keep its contacts waiting.
      if (served === account.id && (await hasChanged(call.tx, account.id, call.now))) {
        served = undefined;
        await refreshChanged(call, account);
        return true;
      }
      served = account.id;
      const audience = await selectDueAudience(call.tx, account.id, call.now);
      if (!audience) return true;
      try {
        await refresh(call, account, audience, worker === 'quick' ? quickTimeoutMs : timeoutMs);
      } catch (error) {
        if (worker === 'quick' && isCutOff(error)) {
          resting.set(account.id, true, { ttl: leftMs });
          throw new RoundLeft();
        }
        if (isFailedAttempt(error)) failures.set(account.id, { account, audience, message: describe(error) });
        throw error;
      }
      return true;
    },
  };
}

async function refresh(
  call: WorkCall<unknown>,
  account: AccountContext,
  audience: DueAudience,
  timeoutMs: number,
): Promise<void> {
  const { id, version } = audience;
  const current = await refreshMembership(call, account, [{ id, version }], { timeoutMs });
  if (current.length === 0) return; // its rules changed meanwhile: it is due again
  const row = await finishWhole(call.tx, account.id, audience, call.now);
  if (audience.status !== 'building') return;
  await tellReady(call, account, row, audience);
}

/** Counts a failed attempt, and emits an event if it was the last one. */
export async function noteFailure(
  { tx, now, emit }: WorkCall<unknown>,
  account: AccountContext,
  audience: Pick<DueAudience, 'id' | 'version'>,
  message: string,
): Promise<void> {
  const row = await countFailure(tx, account.id, { ...audience, error: message }, now);
  if (row?.status !== 'failed') return;
  const failed = toAudience(row, account.timezone);
  emit(audienceFailed, account, {
    audience: failed,
    previous: replacedBy(failed, { ...row, ...row.before }, account.timezone),
  });
}

/**
 * Returns whether a statement was cancelled by its timeout: the one temporary failure that another attempt may well
 * meet again.
 */
function isCutOff(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

function isFailedAttempt(error: unknown): boolean {
  return isCutOff(error) || !(isDatabaseUnavailable(error) || isTemporaryFailure(error));
}

function describe(error: unknown): string {
  return isCutOff(error)
    ? `Computing the members took longer than ${timeoutMs / 60_000} minutes; use fewer or narrower conditions`
    : 'Computing the members failed on our side; refresh the audience to try again';
}
