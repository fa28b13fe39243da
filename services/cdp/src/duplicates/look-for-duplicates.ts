import { type Job, LRUCache, type Sql } from '@customer-platform/service-kit';
import { type AccountWork, claimAccount } from '../accounts/claim-account.ts';
import { lockPairs } from '../contacts/identities.sql.ts';
import { nextNight } from '../contacts/next-night.ts';
import { deleteRun, endRun, selectDueAccounts, selectDueRun } from './duplicate-runs.sql.ts';
import { replaceOpenPairs, selectPairs } from './find-pairs.sql.ts';

/** Pause of an account after a failed run, so that it holds up no other. */
const restMs = 3_600_000;
const maxResting = 10_000;
/** Timeout of one statement. */
const longestMs = 300_000;
const candidates = 20;

const duplicateRuns: AccountWork = {
  lock: 'duplicate run',
  missing: 'duplicate run without an account dropped',
  drop: deleteRun,
};

/** Finds duplicates of one account per round, all in PostgreSQL: every night of its zone, and on request. */
export function lookForDuplicates(): Job<unknown> {
  return { ...makeLook(), byClock: makeLook() };
}

function makeLook(): Job<unknown> {
  const restingUntil = new LRUCache<string, number>({ max: maxResting });
  return {
    name: 'look-for-duplicates',
    queue: { queue: 'duplicates', rows: { name: 'duplicate_runs', due: 'due_at' } },
    everyMs: 1_000,
    statementMs: longestMs,
    async run(call, scope) {
      const { tx, now } = call;
      for (const [id, until] of [...restingUntil]) if (until <= now.getTime()) restingUntil.delete(id);
      const resting = [...restingUntil.keys(), ...scope.accounts];
      const due = await selectDueAccounts(tx, now, { limit: candidates, resting, scope });
      const claimed = await claimAccount(call, due, duplicateRuns);
      if (!claimed?.account) return claimed !== undefined;
      const { account } = claimed;
      const run = await selectDueRun(tx, account.id, now);
      // Another process may have ended it between the query and the claim.
      if (!run) return false;
      try {
        await replacePairs(tx, account.id);
        await endRun(tx, run, nextNight(now, account.timezone));
      } catch (error) {
        restingUntil.set(account.id, now.getTime() + restMs);
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
