import type { QueuePart } from '@customer-platform/contracts/core';
import type { Sql } from '../database/database.ts';
import { noAccount } from '../values/no-account.ts';

/** A pause with the part of the queue that it holds: all of it, where account and endpoint are null. */
export interface PauseRow {
  queue: string;
  account: string | null;
  endpoint: string | null;
  reason: string;
  actor: string;
  at: Date;
}

export async function selectPauses(sql: Sql): Promise<PauseRow[]> {
  return await sql<PauseRow[]>`
    select queue, nullif(account_id, ${noAccount}) as account, nullif(endpoint_id, ${noAccount}) as endpoint, reason, actor,
      paused_at as at
    from queue_pauses order by paused_at, queue, account_id, endpoint_id`;
}

/** Writes a pause; returns whether that part was not paused already. */
export async function insertPause(tx: Sql, part: QueuePart, pause: Pick<PauseRow, 'reason' | 'actor' | 'at'>) {
  const { queue, account = noAccount, endpoint = noAccount } = part;
  const { reason, actor, at } = pause;
  const inserted = await tx`
    insert into queue_pauses (account_id, queue, endpoint_id, reason, actor, paused_at)
    values (${account}, ${queue}, ${endpoint}, ${reason}, ${actor}, ${at}) on conflict do nothing`;
  return inserted.count === 1;
}

/** Deletes the pause of exactly this part and returns it; undefined where there is none. */
export async function deletePause(tx: Sql, { queue, account = noAccount, endpoint = noAccount }: QueuePart) {
  const [deleted] = await tx<Pick<PauseRow, 'reason' | 'actor'>[]>`
    delete from queue_pauses where account_id = ${account} and queue = ${queue} and endpoint_id = ${endpoint}
    returning reason, actor`;
  return deleted;
}
