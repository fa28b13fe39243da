import { audienceFailed, audienceReady } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { isDatabaseAway, isTemporaryFailure, type Job, type WorkCall } from '@customer-platform/service-kit';
import { toAudience } from './audience.ts';
import { hasChanged } from './changed-contacts.sql.ts';
import {
  countFailure,
  type DueAudience,
  dropDue,
  finishWhole,
  selectDueAccounts,
  selectDueAudience,
} from './due-audiences.sql.ts';
import { refreshChanged } from './refresh-changed.ts';
import { refreshMembership, takeAccount } from './refresh-membership.ts';

const timeoutMs = 300_000;
const candidates = 20;

/** A try that failed: it is counted in a transaction of its own, for the one it failed in is undone. */
interface Failure {
  account: AccountContext;
  audience: DueAudience;
  message: string;
}

/**
 * Works out, as a whole, one audience that is due a round. All of it is one transaction, so that of a process that dies nothing is
 * left and another begins anew. `worker` tells jobs apart that run side by side, each for another account.
 */
export function refreshWhole(worker: number): Job<unknown> {
  let failure: Failure | undefined;
  let served: string | undefined;
  return {
    name: `refresh-audiences-${worker}`,
    everyMs: 500,
    statementMs: timeoutMs,
    async run(call) {
      if (failure) {
        const { account, audience, message } = failure;
        failure = undefined;
        await noteFailure(call, account, audience, message);
        return true;
      }
      const account = await takeDueAccount(call);
      if (account === 'none' || account === 'unknown') return account === 'unknown';
      // Many audiences of one account in a row don't keep its contacts waiting.
      if (served === account.id && (await hasChanged(call.tx, account.id, call.now))) {
        served = undefined;
        await refreshChanged(call, account);
        return true;
      }
      served = account.id;
      const audience = await selectDueAudience(call.tx, account.id, call.now);
      if (!audience) return true;
      try {
        await workOut(call, account, audience);
      } catch (error) {
        if (isFailedTry(error)) failure = { account, audience, message: describe(error) };
        throw error;
      }
      return true;
    },
  };
}

/** Takes the account that waits longest of those that no other job has; work of an account that there is not is dropped. */
async function takeDueAccount({ tx, now, log, findAccounts }: WorkCall<unknown>) {
  for (const accountId of await selectDueAccounts(tx, now, candidates)) {
    if (!(await takeAccount(tx, accountId))) continue;
    const account = findAccounts([accountId]).get(accountId);
    if (account) return account;
    log.error({ account: accountId }, 'audiences belong to no account; they are not worked out');
    await dropDue(tx, accountId);
    return 'unknown';
  }
  return 'none';
}

async function workOut(call: WorkCall<unknown>, account: AccountContext, audience: DueAudience): Promise<void> {
  const { id, version, rules } = audience;
  const current = await refreshMembership(call, account, [{ id, version, rules }], timeoutMs);
  if (current.length === 0) return; // its rules changed meanwhile: it is due again
  const row = await finishWhole(call.tx, account.id, audience, call.now);
  if (audience.status !== 'building') return;
  call.emit(audienceReady, account, { audience: toAudience({ ...row, status: 'ready' }, account.timezone) });
}

/** Counts a try that failed, and tells where it was the last one. */
export async function noteFailure(
  { tx, now, emit }: WorkCall<unknown>,
  account: AccountContext,
  audience: Pick<DueAudience, 'id' | 'version'>,
  message: string,
): Promise<void> {
  const row = await countFailure(tx, account.id, audience, message, now);
  if (row?.status === 'failed') emit(audienceFailed, account, { audience: toAudience(row, account.timezone) });
}

/** A statement that was cut off for its time: the one temporary failure that another try may well meet again. */
function isCutOff(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

function isFailedTry(error: unknown): boolean {
  return isCutOff(error) || !(isDatabaseAway(error) || isTemporaryFailure(error));
}

function describe(error: unknown): string {
  return isCutOff(error)
    ? `Computing the members took longer than ${timeoutMs / 60_000} minutes; use fewer or narrower conditions`
    : 'Computing the members failed on our side; refresh the audience to try again';
}
