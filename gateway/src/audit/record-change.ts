import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { PrefetchCall, Sql } from '@customer-platform/service-kit';
import { confirmChange, type Difference, deleteChange, insertChange } from './audit.sql.ts';

/** Part of a call that says who acts, and when: its account has the name of the operator, or of the key, that the audit log shows. */
export interface Acting {
  account: Pick<AccountContext, 'name'>;
  now: Date;
  tx: Sql;
  /** Either may have the reason of the change. */
  body?: object | undefined;
  query?: object | undefined;
}

/** A change in the words of the audit log. */
export interface Changed extends Pick<AuditEntry, 'action' | 'target'> {
  account?: string | undefined;
}

/** The same with its reason, where the change is made elsewhere. */
export interface ChangedElsewhere extends Changed {
  reason: string | undefined;
}

/** Records a change of the gateway's own data, in its transaction, with the reason that its call has. */
export async function recordChange(call: Acting, changed: Changed, difference: Difference): Promise<void> {
  const { reason }: { reason?: string } = { ...call.query, ...call.body };
  await insertChange(call.tx, { ...changed, reason, actor: call.account.name, at: call.now }, difference, true);
}

/** The result of a change elsewhere; `isChanged` says that there was one. */
export interface Done<Result> extends Difference {
  isChanged: boolean;
  result: Result;
}

/**
 * Makes a change elsewhere and records it: it is noted first, so that none is made without a record. Where nothing was changed, or it was
 * refused, the note is deleted; where nobody knows, since there was no reply, it stays.
 */
export async function recordAround<Result>(
  call: Pick<PrefetchCall, 'account' | 'now' | 'onConnection'>,
  changed: ChangedElsewhere,
  work: () => Promise<Done<Result>>,
): Promise<Result> {
  const { onConnection } = call;
  const noted = { ...changed, actor: call.account.name, at: call.now };
  const id = await onConnection((sql) => insertChange(sql, noted, {}, false));
  let done: Done<Result>;
  try {
    done = await work();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) await onConnection((sql) => deleteChange(sql, id));
    throw error;
  }
  // Outside of the above: a change that was made keeps its note, also where no connection is free to confirm it.
  const { isChanged, result, ...difference } = done;
  await onConnection((sql) => (isChanged ? confirmChange(sql, id, difference) : deleteChange(sql, id)));
  return result;
}

/** Returns those fields of two records that differ. */
export function differenceOf(before: Record<string, unknown>, after: Record<string, unknown>): Difference {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const pick = (record: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, record[name]]));
  return { before: pick(before), after: pick(after) };
}
