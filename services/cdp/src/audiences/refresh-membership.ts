import type { AccountContext } from '@customer-platform/contracts/core';
import { RoundLeft, type WorkCall } from '@customer-platform/service-kit';
import { tellOfMoves } from './announce-moves.ts';
import {
  applyChanges,
  dropOvertakenChanges,
  finishChanges,
  lockCurrent,
  selectRules,
  setPlanning,
  type Target,
  writeChanges,
  writeReevaluations,
} from './membership.sql.ts';

interface Refresh {
  /** Timeout of one statement. */
  timeoutMs: number;
  /** Time that the audiences may take together, in milliseconds: where it is over, RoundLeft is thrown. Any unless given. */
  roundMs?: number | undefined;
  /** Returns the only contacts to look at for an audience; all of the account if left out. */
  contactsOf?(target: Target): readonly string[];
}

/**
 * Refreshes audiences: who enters, who leaves, the scheduled re-evaluations, the number of members, and an event for
 * each who moved, all in this transaction; of very many the events follow. No rows come into this process, and nobody who reads or changes an audience
 * waits while its rules are evaluated. Call it with the account claimed. Returns the refreshed audiences: not those whose
 * rules changed meanwhile.
 */
export async function refreshMembership(
  call: WorkCall<unknown>,
  account: AccountContext,
  targets: readonly Target[],
  { timeoutMs, roundMs = Number.POSITIVE_INFINITY, contactsOf }: Refresh,
): Promise<Target[]> {
  const { tx, now } = call;
  const { id: accountId, country } = account;
  const scopeOf = (target: Target) => ({ accountId, country, now, contactIds: contactsOf?.(target) });
  const untilMs = performance.now() + roundMs;
  const leaveLong = () => {
    if (performance.now() > untilMs) throw new RoundLeft();
  };
  await setPlanning(tx, { nestedLoops: false, timeoutMs });
  let changes = 0;
  for (const target of targets) {
    leaveLong();
    const rules = await selectRules(tx, account.id, target);
    if (rules) changes += await writeChanges(tx, scopeOf(target), { id: target.id, rules }, timeoutMs);
  }
  const current = await lockCurrent(tx, account.id, targets);
  for (const target of current) {
    leaveLong();
    const rules = await selectRules(tx, account.id, target);
    if (rules) await writeReevaluations(tx, scopeOf(target), { id: target.id, rules }, timeoutMs);
  }
  await setPlanning(tx, { nestedLoops: true, timeoutMs });
  if (changes > 0) {
    await dropOvertakenChanges(tx, account.id, current);
    await applyChanges(tx, account.id, now);
    await tellOfMoves(call, account, changes);
  }
  await finishChanges(tx, account.id, current, now);
  return current;
}
