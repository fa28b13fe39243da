import type { Channel } from '@customer-platform/contracts/messaging';
import type { Fragment, JsonValue, KeyedRows, Sql } from '@customer-platform/service-kit';
import type { MessageRef } from '../messages/attempts.sql.ts';
import type { Inbound, Receipt } from '../providers/provider.ts';

/** A receipt with its attempt; null while no attempt has its provider's id. */
export interface ArrivedReceipt extends Receipt {
  account_id: string;
  id: number;
  message_id: string | null;
  number: number | null;
  arrived_at: Date;
}

/** Inserts receipts to apply, skips those already stored, and returns how many it inserted. The fixed order prevents deadlocks. */
export async function insertReceipts(
  tx: Sql,
  receipts: readonly (Receipt & { account_id: string; channel: Channel })[],
  now: Date,
): Promise<number> {
  if (receipts.length === 0) return 0;
  const inserted = await tx`
    insert into arrived_receipts (account_id, channel, provider_id, status, at, arrived_at, due_at)
    select account_id, channel, "providerId", status, at, ${now}, ${now}
    from jsonb_to_recordset(${tx.json(receipts as unknown as JsonValue)}) as given (account_id uuid, channel text, "providerId" text,
      status text, at timestamptz)
    order by account_id, channel, "providerId", status
    on conflict do nothing`;
  return inserted.count;
}

/** Inserts inbound messages and returns their ids; skips known provider ids. The fixed order prevents deadlocks. */
export async function insertInbound(
  tx: Sql,
  { account_id, channel }: { account_id: string; channel: Channel },
  messages: readonly Inbound[],
  now: Date,
): Promise<string[]> {
  if (messages.length === 0) return [];
  const rows = await tx<{ id: string }[]>`
    with given as (
      select * from jsonb_to_recordset(${tx.json(messages as unknown as JsonValue)}) as given ("providerId" text, sender text, "from" text,
        name text, type text, body text, media jsonb, "reactionTo" text, at timestamptz)
    ), known as (
      insert into senders as known (account_id, channel, sender, address, wrote_at)
      select ${account_id}, ${channel}, sender, (array_agg("from" order by at desc))[1], max(at) from given group by sender order by sender
      on conflict (account_id, channel, sender) do update set wrote_at = greatest(known.wrote_at, excluded.wrote_at),
        address = case when excluded.wrote_at >= known.wrote_at then excluded.address else known.address end
    )
    insert into inbound_messages (account_id, channel, provider_id, sender, address, sender_name, type, body, media, reaction_to, at,
      arrived_at, due_at)
    select ${account_id}, ${channel}, "providerId", sender, "from", name, type, body, media, "reactionTo", at, ${now}, ${now} from given
    order by "providerId"
    on conflict do nothing returning id`;
  return rows.map(({ id }) => id);
}

/** Returns whether an account has a message with this id. */
export async function isMessage(sql: Sql, accountId: string, id: string): Promise<boolean> {
  const rows = await sql`select from messages where account_id = ${accountId} and id = ${id}`;
  return rows.length === 1;
}

/** Returns whether at least `count` receipts of the account wait to be applied. */
export async function hasWaitingReceipts(sql: Sql, accountId: string, count: number): Promise<boolean> {
  const rows = await sql`select 1 from arrived_receipts where account_id = ${accountId} offset ${count - 1} limit 1`;
  return rows.length === 1;
}

/** Returns whether at least `count` inbound messages of an account wait to be announced. */
export async function hasWaitingInbound(sql: Sql, accountId: string, count: number): Promise<boolean> {
  const rows = await sql`
    select 1 from inbound_messages where account_id = ${accountId} and due_at is not null offset ${count - 1} limit 1`;
  return rows.length === 1;
}

/** Like `hasWaitingReceipts`, but blocks the account's other calls until the transaction ends, so that no insert goes uncounted. Call it last. */
export async function lockWaitingReceipts(tx: Sql, accountId: string, count: number): Promise<boolean> {
  // Two statements, so that the second sees what was committed while the first waited.
  const locked = tx`select pg_advisory_xact_lock(hashtextextended(${`receipts ${accountId}`}, 0))`.execute();
  const [has] = await Promise.all([hasWaitingReceipts(tx, accountId, count), locked]);
  return has;
}

/** Form of the platform's own ids, which a provider may send back in place of its own. */
export const uuidForm = '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$';

/** Arrived receipts by the time at which they are to be applied. */
export const dueReceipts: KeyedRows = {
  name: 'arrived_receipts',
  key: { account_id: 'uuid', id: 'bigint' },
  due: 'due_at',
};

/**
 * Returns the receipts that `due` selects and locks, in order of arrival. No other transaction gets them until this one ends. A receipt names its
 * message by the provider's id, or by the attempt's id, which is known even if the provider's response was lost.
 */
export async function takeArrivedReceipts(tx: Sql, due: Fragment): Promise<ArrivedReceipt[]> {
  return await tx<ArrivedReceipt[]>`
    with selected as materialized (${due}), due as (
      -- A lateral lookup uses the primary key; a join would read the whole table. The rows are already locked.
      select r.* from selected cross join lateral (
        select * from arrived_receipts where account_id = selected.account_id and id = selected.id for update) as r
    )
    select due.account_id, due.id, due.provider_id as "providerId", due.status, due.at, due.arrived_at, a.message_id, a.number
    from due left join lateral (
      select message_id, number from (
        (select message_id, number from attempts
         where account_id = due.account_id and channel = due.channel and provider_id = due.provider_id
         order by message_id desc limit 1)
        union all
        select message_id, number from attempts
        where account_id = due.account_id and channel = due.channel
          and id = case when due.provider_id ~ ${uuidForm} then due.provider_id::uuid end
      ) as named order by message_id desc limit 1
    ) as a on true
    order by due.id`;
}

/** Deletes applied receipts, and postpones the others until `dueAt`. */
export async function settleReceipts(
  tx: Sql,
  applied: readonly ArrivedReceipt[],
  waiting: readonly { receipt: ArrivedReceipt; dueAt: Date }[],
): Promise<void> {
  await tx`
    with forgotten as (
      delete from arrived_receipts r using unnest(${applied.map(({ account_id }) => account_id)}::uuid[],
        ${applied.map(({ id }) => String(id))}::text[]::bigint[]) as gone (account_id, id)
      where r.account_id = gone.account_id and r.id = gone.id
    )
    update arrived_receipts r set due_at = later.due_at
    from unnest(${waiting.map(({ receipt }) => receipt.account_id)}::uuid[], ${waiting.map(({ receipt }) => String(receipt.id))}::text[]::bigint[],
      ${waiting.map(({ dueAt }) => dueAt.toISOString())}::text[]::timestamptz[]) as later (account_id, id, due_at)
    where r.account_id = later.account_id and r.id = later.id`;
}

/** Makes receipts due that arrived before the provider's id of their attempt was known. */
export async function wakeReceipts(
  tx: Sql,
  named: readonly (MessageRef & { channel: Channel; providerId: string })[],
  now: Date,
): Promise<void> {
  if (named.length === 0) return;
  await tx`
    update arrived_receipts r set due_at = ${now}
    from unnest(${named.map(({ account_id }) => account_id)}::uuid[], ${named.map(({ channel }) => channel)}::text[],
      ${named.map(({ providerId }) => providerId)}::text[]) as named (account_id, channel, provider_id)
    where r.account_id = named.account_id and r.channel = named.channel and r.provider_id = named.provider_id and r.due_at > ${now}`;
}
