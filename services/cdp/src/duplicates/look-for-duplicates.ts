import type { Job, Sql } from '@customer-platform/service-kit';
import { lockPairs } from '../contacts/identities.sql.ts';
import { nextNight } from '../contacts/next-night.ts';
import { claimRun, deleteRun, endRun } from './duplicate-runs.sql.ts';
import { replaceOpenPairs, selectPairs } from './find-pairs.sql.ts';

/** Pause of an account after a failed run, so that it holds up no other. */
const restMs = 3_600_000;
/** Timeout of one statement. */
const longestMs = 300_000;

/** Finds duplicates of one account per round, all in PostgreSQL: every night of its zone, and on request. */
export function lookForDuplicates(): Job<unknown> {
  const restingUntil = new Map<string, number>();
  return {
    name: 'look-for-duplicates',
    queue: { queue: 'duplicates', rows: { name: 'duplicate_runs', due: 'due_at' } },
    everyMs: 1_000,
    statementMs: longestMs,
    async run({ tx, now, findAccounts, log }, { accounts: paused }) {
      for (const [id, until] of restingUntil) if (until <= now.getTime()) restingUntil.delete(id);
      const run = await claimRun(tx, now, [...restingUntil.keys(), ...paused]);
      if (!run) return false;
      const account = findAccounts([run.account_id]).get(run.account_id);
      if (!account) {
        log.error({ account: run.account_id }, 'duplicate run without an account dropped');
        await deleteRun(tx, run.account_id);
        return true;
      }
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
