import { type Job, LRUCache, type ReportedQueue, type Sql } from '@customer-platform/service-kit';
import { type AccountWork, claimAccount } from '../accounts/claim-account.ts';
import { withRoundsApart } from '../accounts/rounds-apart.ts';
import { lockPairs } from '../contacts/identities.sql.ts';
import { nextNight } from '../contacts/next-night.ts';
import {
  deleteRun,
  noteDuration,
  restAfter,
  scheduleNext,
  selectDueAccounts,
  selectDueRun,
} from './duplicate-runs.sql.ts';
import { replaceOpenPairs, selectPairs } from './find-pairs.sql.ts';

/** Pause of an account after a failed run, by worker, so that it holds up no other: what failed is tried again by the first. */
const restMs = { 1: 3_600_000, 2: 86_400_000 };
const maxResting = 10_000;
/** Timeout of one statement. */
const longestMs = 300_000;
const candidates = 20;

const duplicateRuns: AccountWork = {
  lock: 'duplicate run',
  missing: 'duplicate run without an account dropped',
  drop: deleteRun,
};

const duplicates: ReportedQueue = { queue: 'duplicates', rows: { name: 'duplicate_runs', due: 'due_at' } };

/**
 * Finds duplicates of one account per round, all in PostgreSQL: every night of its zone, and on request. `worker` distinguishes jobs that run
 * side by side, each for another customer. The second takes only accounts whose run is expected to be short: long ones, however many, leave
 * it to the others.
 */
export function lookForDuplicates(worker: 1 | 2): Job<unknown> {
  return withRoundsApart(() => makeLook(worker));
}

function makeLook(worker: 1 | 2): Job<unknown> {
  const restingUntil = new LRUCache<string, number>({ max: maxResting });
  return {
    name: `look-for-duplicates-${worker}`,
    queue: duplicates,
    everyMs: 1_000,
    statementMs: longestMs,
    async run(call, scope) {
      const { tx, now } = call;
      // Each by its own time: a round by the clock of one account ends no other's.
      for (const [id, until] of [...restingUntil]) {
        if ((scope.account ?? id) === id && until <= now.getTime()) restingUntil.delete(id);
      }
      const resting = [...restingUntil.keys(), ...scope.accounts];
      const onlyShort = worker === 2;
      const due = await selectDueAccounts(tx, now, { limit: candidates, resting, scope, onlyShort });
      const claimed = await claimAccount(call, due, duplicateRuns);
      if (!claimed?.account) return claimed !== undefined;
      const { account } = claimed;
      const run = await selectDueRun(tx, account, now);
      // Another process may have ended it between the query and the claim.
      if (!run) return false;
      // Rests go by the real time; by the clock of an account its rounds rest anyway.
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
        if (!byClock) await restAfter(tx, account, now, tookMs);
      } catch (error) {
        restingUntil.set(account.id, now.getTime() + restMs[worker]);
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
