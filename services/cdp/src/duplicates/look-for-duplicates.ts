import { type Job, LRUCache, type ReportedQueue, type Sql } from '@customer-platform/service-kit';
import { type AccountWork, claimAccount } from '../accounts/claim-account.ts';
import { withRoundsApart } from '../accounts/rounds-apart.ts';
import { lockPairs } from '../contacts/identities.sql.ts';
import { nextNight } from '../contacts/next-night.ts';
import {
  coolDownAfter,
  deleteRun,
  noteDuration,
  scheduleNext,
  selectDueAccounts,
  selectDueRun,
} from './duplicate-runs.sql.ts';
import { replaceOpenPairs, selectPairs } from './find-pairs.sql.ts';

/** Pause of an account after a failed run, in milliseconds by worker, so that it delays no other account. The first worker retries sooner. */
const coolDownMs = { 1: 3_600_000, 2: 86_400_000 };
const maxCoolingDown = 10_000;
/** Timeout of one statement, in milliseconds. */
const longestMs = 300_000;
const candidates = 20;

const duplicateRuns: AccountWork = {
  lock: 'duplicate run',
  missing: 'dropped the duplicate run of a missing account',
  drop: deleteRun,
};

const duplicates: ReportedQueue = { queue: 'duplicates', rows: { name: 'duplicate_runs', due: 'due_at' } };

/**
 * Finds duplicates of one account per round, in PostgreSQL only: every night in the account's zone, and on request. `worker` distinguishes jobs that
 * run concurrently, each for another customer. The second one takes only accounts whose run is expected to be short, so long runs never delay them.
 */
export function lookForDuplicates(worker: 1 | 2): Job<unknown> {
  return withRoundsApart(() => makeLook(worker));
}

function makeLook(worker: 1 | 2): Job<unknown> {
  const coolingDownUntil = new LRUCache<string, number>({ max: maxCoolingDown });
  return {
    name: `look-for-duplicates-${worker}`,
    queue: duplicates,
    everyMs: 1_000,
    statementMs: longestMs,
    async run(call, scope) {
      const { tx, now } = call;
      // Compare each entry with its own clock: a round by one account's clock must not end another's pause.
      for (const [id, until] of [...coolingDownUntil]) {
        if ((scope.account ?? id) === id && until <= now.getTime()) coolingDownUntil.delete(id);
      }
      const except = [...coolingDownUntil.keys(), ...scope.accounts];
      const onlyShort = worker === 2;
      const due = await selectDueAccounts(tx, now, { limit: candidates, except, scope, onlyShort });
      const claimed = await claimAccount(call, due, duplicateRuns);
      if (!claimed?.account) return claimed !== undefined;
      const { account } = claimed;
      const run = await selectDueRun(tx, account, now);
      // Another process may have finished the run between the query and the claim.
      if (!run) return false;
      // Cooling down is measured in real time and does not apply to rounds by a sandbox clock.
      const byClock = scope.account !== undefined;
      if (run.rests_until && !byClock) {
        await scheduleNext(tx, run, run.rests_until);
        return true;
      }
      const beganMs = performance.now();
      try {
        await replacePairs(tx, account.id);
        await scheduleNext(tx, run, nextNight(now, account.timezone));
        const tookMs = performance.now() - beganMs;
        await noteDuration(tx, account.id, tookMs);
        if (!byClock) await coolDownAfter(tx, account, now, tookMs);
      } catch (error) {
        coolingDownUntil.set(account.id, now.getTime() + coolDownMs[worker]);
        throw error;
      }
      return true;
    },
  };
}

async function replacePairs(tx: Sql, accountId: string): Promise<void> {
  await selectPairs(tx, accountId);
  await lockPairs(tx, accountId);
  await replaceOpenPairs(tx, accountId);
}
