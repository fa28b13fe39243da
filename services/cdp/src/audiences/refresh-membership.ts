import type { AccountContext } from '@customer-platform/contracts/core';
import { RoundAbandoned, type WorkCall } from '@customer-platform/service-kit';
import { emitMoves } from './announce-moves.ts';
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
  /** Timeout of one statement, in milliseconds. */
  timeoutMs: number;
  /** Milliseconds for all audiences together, after which RoundAbandoned is thrown; unlimited if omitted. */
  roundMs?: number | undefined;
  /** Returns the contacts to evaluate for an audience; all contacts of the account if omitted. */
  contactsOf?(target: Target): readonly string[];
}

/**
 * Refreshes audiences in this transaction: members, scheduled re-evaluations, member counts, and an event per move (queued if very many). Rows stay
 * in PostgreSQL. Audiences can be read and changed while their rules are evaluated. The caller must have claimed the account. Returns the refreshed
 * audiences, without those whose rules changed meanwhile.
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
  const throwIfOverdue = () => {
    if (performance.now() > untilMs) throw new RoundAbandoned();
  };
  await setPlanning(tx, { nestedLoops: false, timeoutMs });
  let changes = 0;
  for (const target of targets) {
    throwIfOverdue();
    const rules = await selectRules(tx, account.id, target);
    if (rules) changes += await writeChanges(tx, scopeOf(target), { id: target.id, rules }, timeoutMs);
  }
  const current = await lockCurrent(tx, account.id, targets);
  for (const target of current) {
    throwIfOverdue();
    const rules = await selectRules(tx, account.id, target);
    if (rules) await writeReevaluations(tx, scopeOf(target), { id: target.id, rules }, timeoutMs);
  }
  await setPlanning(tx, { nestedLoops: true, timeoutMs });
  if (changes > 0) {
    await dropOvertakenChanges(tx, account.id, current);
    await applyChanges(tx, account.id, now);
    await emitMoves(call, account, changes);
  }
  await finishChanges(tx, account.id, current, now);
  return current;
}
