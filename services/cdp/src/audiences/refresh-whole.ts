import { audienceFailed } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import {
  isDatabaseUnavailable,
  isTemporaryFailure,
  type Job,
  LRUCache,
  type ReportedQueue,
  RoundAbandoned,
  type WorkCall,
} from '@customer-platform/service-kit';
import { type AccountWork, beforeFirst, claimAccount } from '../accounts/claim-account.ts';
import { withRoundsApart } from '../accounts/rounds-apart.ts';
import { announceNext, emitReady, isBehind } from './announce-moves.ts';
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
/** Statement timeout of the quick worker. It leaves an account that takes longer to the other workers for `deferredMs`. */
const quickTimeoutMs = 2_000;
const deferredMs = 300_000;
const candidates = 20;
/** Pause of an account whose events are behind. */
const coolDownMs = 5_000;
const maxCoolingDown = 10_000;

const refreshes: AccountWork = {
  lock: 'audiences',
  missing: 'cleared due audience refreshes of a missing account',
  drop: dropDue,
};

const audiences: ReportedQueue = { queue: 'audiences', rows: { name: 'audiences', due: 'due_at' } };

/** A failed attempt. The next round counts it, since the failed transaction is rolled back. */
interface Failure {
  account: AccountContext;
  audience: DueAudience;
  message: string;
}

/**
 * Refreshes one due audience completely per round; accounts take turns. A round is one transaction, so a process that crashes leaves no partial
 * result. `worker` distinguishes jobs that run concurrently, each for another account. The `quick` one serves accounts that would wait minutes behind
 * large refreshes of others.
 */
export function refreshWhole(worker: number | 'quick'): Job<unknown> {
  return withRoundsApart(() => makeRefresh(worker));
}

function makeRefresh(worker: number | 'quick'): Job<unknown> {
  /** Failures by account, because rounds of several clocks interleave. */
  const failures = new LRUCache<string, Failure>({ max: maxCoolingDown });
  let served: string | undefined;
  let after = beforeFirst;
  const coolingDown = new LRUCache<string, true>({ max: maxCoolingDown, ttl: coolDownMs });
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
      const due = { after, coolingDown: [...coolingDown.keys()], limit: candidates, scope };
      const dueAccounts = await selectDueAccounts(call.tx, call.now, due);
      const claimed = await claimAccount(call, dueAccounts, refreshes);
      after = claimed?.id ?? beforeFirst;
      if (!claimed?.account) return claimed !== undefined;
      const { account } = claimed;
      // Advancing a sandbox clock processes all due work, so there is no pause for a sandbox.
      if (!scope.account && (await isBehind(call.tx, account.id))) {
        coolingDown.set(account.id, true);
        await beginLater(call.tx, account.id, call.now);
        return true;
      }
      if (await announceNext(call, account)) return true;
      // Consecutive refreshes of one account must not delay its changed contacts.
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
        if (worker === 'quick' && isCanceledByTimeout(error)) {
          coolingDown.set(account.id, true, { ttl: deferredMs });
          throw new RoundAbandoned();
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
  if (current.length === 0) return; // The rules changed meanwhile, so the audience is due again.
  const row = await finishWhole(call.tx, account.id, audience, call.now);
  if (audience.status !== 'building') return;
  await emitReady(call, account, row, audience);
}

/** Counts a failed attempt. Emits audience.failed if it was the last one. */
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

/** Returns whether PostgreSQL canceled a statement by its timeout. Unlike other temporary failures, this one may well recur. */
function isCanceledByTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

function isFailedAttempt(error: unknown): boolean {
  return isCanceledByTimeout(error) || !(isDatabaseUnavailable(error) || isTemporaryFailure(error));
}

function describe(error: unknown): string {
  return isCanceledByTimeout(error)
    ? `Computing the members took longer than ${timeoutMs / 60_000} minutes; use fewer or narrower conditions`
    : 'Computing the members failed on our side; refresh the audience to try again';
}
