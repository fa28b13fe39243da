import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { PrefetchCall, Sql } from '@customer-platform/service-kit';
import { confirmChange, type Difference, deleteChange, insertChange } from './audit.sql.ts';

/** The actor and the time of a change. The account's name is the operator or the key that the audit log shows. */
export interface Acting {
  account: Pick<AccountContext, 'name'>;
  now: Date;
  tx: Sql;
  /** The reason of the change is in `body` or `query`. */
  body?: object | undefined;
  query?: object | undefined;
}

/** A change as the audit log names it. */
export interface Changed extends Pick<AuditEntry, 'action' | 'target'> {
  account?: string | undefined;
}

/** A change that another service makes, with its reason. */
export interface ChangedElsewhere extends Changed {
  reason: string | undefined;
}

/** Records a change of the gateway's own data in its transaction. The reason comes from the call. */
export async function recordChange(call: Acting, changed: Changed, difference: Difference): Promise<void> {
  const { reason }: { reason?: string } = { ...call.query, ...call.body };
  await insertChange(call.tx, { ...changed, reason, actor: call.account.name, at: call.now }, difference, true);
}

/** The result of a change in another service. `isChanged` is false if nothing changed. */
export interface Done<Result> extends Difference {
  isChanged: boolean;
  result: Result;
}

/**
 * Makes a change in another service and records it. An uncertain entry is written first, so that no change is unrecorded. The entry is deleted if the
 * change is refused or changes nothing. It stays if the outcome is unknown because no reply arrived.
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
  // Outside the try block: the entry of a completed change stays even if no connection is free to confirm it.
  const { isChanged, result, ...difference } = done;
  await onConnection((sql) => (isChanged ? confirmChange(sql, id, difference) : deleteChange(sql, id)));
  return result;
}

/** Returns the fields that differ between two records, with both values. */
export function differenceOf(before: Record<string, unknown>, after: Record<string, unknown>): Difference {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const pick = (record: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, record[name]]));
  return { before: pick(before), after: pick(after) };
}
