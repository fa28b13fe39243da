import { joinContact } from '@customer-platform/contact-copy';
import type { Channel, MessageStep } from '@customer-platform/contracts/messaging';
import type { Database, Sql, TraceHeaders } from '@customer-platform/service-kit';
import type { MessageRef } from '../messages/attempts.sql.ts';

/** One account's one channel: what waits on it is sent beside the others'. */
export interface Lane {
  account_id: string;
  channel: Channel;
}

/** A try that has begun: it is written so before its provider is called. */
export interface Claim extends Lane, MessageRef {
  number: number;
  attempt_id: string;
  tries: number;
  step: MessageStep;
  purpose: string;
  contact_id: string | null;
  /** Where it goes as far as this service knows; "" where customer data has to be asked, and for a contact that was deleted. */
  address: string;
  is_simulated: boolean;
  /** Null where the channel is not set up. */
  provider: string | null;
  settings: Buffer | null;
  token: string | null;
  trace: TraceHeaders | null;
}

export interface ClaimResult {
  claims: Claim[];
  /** The last lane that was looked at, where there may be more behind it. */
  last: Lane | undefined;
}

/** So many lanes are looked at in one statement. */
const maxLanes = 200;

/**
 * Begins at most `most` tries that are due, at most `perLane` of a lane and of those in `busy` as many as are free, earliest first in
 * each. Lanes are found one from the other by the index, from the one after `after`: what waits on one is not read for another. A
 * message that is being changed is passed over.
 */
export async function claimTries(
  sql: Database,
  now: Date,
  options: { most: number; perLane: number; busy: readonly (Lane & { free: number })[]; after: Lane | undefined },
): Promise<ClaimResult> {
  const { most, perLane, busy, after } = options;
  const next = (sql: Sql, last: ReturnType<Sql>) => sql`
    select account_id, channel from attempts where due_at is not null and (account_id, channel) > ${last}
    order by account_id, channel limit 1`;
  const rows = await sql<(Claim & { lanes: number; last: Lane | null })[]>`
    with recursive lanes as (
      (select account_id, channel, 1 as place from (
        ${next(sql, sql`(${after?.account_id ?? '00000000-0000-0000-0000-000000000000'}::uuid, ${after?.channel ?? ''})`)}) as first)
      union all
      select n.account_id, n.channel, l.place + 1
      from lanes l cross join lateral (${next(sql, sql`(l.account_id, l.channel)`)}) as n
      where l.place < ${maxLanes}
    ), due as (
      select due.* from lanes l
      left join unnest(${busy.map(({ account_id }) => account_id)}::uuid[], ${busy.map(({ channel }) => channel)}::text[],
        ${busy.map(({ free }) => free)}::integer[]) as busy (account_id, channel, free)
        on busy.account_id = l.account_id and busy.channel = l.channel
      cross join lateral (
        select a.account_id, a.message_id, a.number from attempts a
        where a.account_id = l.account_id and a.channel = l.channel and a.due_at <= ${now}
        order by a.due_at limit coalesce(busy.free, ${perLane}) for update skip locked
      ) as due
      limit ${most}
    ), picked as (
      select due.*, m.contact_id, m.given_to, m.purpose, m.steps -> (due.number - 1) as step, m.is_simulated, m.trace
      -- One by one through the primary key, whatever the statistics say of tables that were empty a moment ago.
      from due cross join lateral (
        select * from messages where account_id = due.account_id and id = due.message_id for update skip locked) as m
    ), addressed as (
      select m.*, ch.provider, ch.settings, ch.token, coalesce(survivor.id, c.id) as survivor_id,
        case when coalesce(survivor.deleted, c.deleted) then ''
          else coalesce(m.given_to, case when m.step ->> 'channel' <> 'email' then coalesce(survivor.phone, c.phone) end, '')
        end as to_address
      from picked m ${joinContact(sql, 'm')}
      left join channels ch on ch.account_id = m.account_id and ch.channel = m.step ->> 'channel'
    ), begun as (
      update attempts a set due_at = null, running_since = ${now}, tries = a.tries + 1, status = 'sending',
        started_at = coalesce(a.started_at, ${now}), address = d.to_address,
        provider = case when d.is_simulated then 'simulated' else coalesce(d.provider, '') end
      from addressed d where a.account_id = d.account_id and a.message_id = d.message_id and a.number = d.number
      returning a.account_id, a.message_id, a.number, a.id, a.channel, a.tries, a.address
    ), shown as (
      update messages m set status = 'sending' from begun b
      where m.account_id = b.account_id and m.id = b.message_id and m.status in ('queued', 'scheduled')
    )
    select b.account_id, b.message_id, b.number, b.id as attempt_id, b.channel, b.tries, b.address, d.step, d.purpose,
      coalesce(d.survivor_id, d.contact_id) as contact_id, d.is_simulated, d.provider, d.settings, d.token, d.trace, looked.*
    from (select count(*)::int as lanes, (
      select jsonb_build_object('account_id', account_id, 'channel', channel) from lanes order by place desc limit 1) as last
      from lanes) as looked
    left join begun b on true
    left join addressed d on d.account_id = b.account_id and d.message_id = b.message_id and d.number = b.number`;
  const looked = rows[0];
  return {
    claims: rows.filter(({ message_id }) => message_id !== null),
    last: looked && looked.lanes === maxLanes ? (looked.last ?? undefined) : undefined,
  };
}

/** Tries that began before `before` and of which nothing was heard: their process died, or cannot write any more. */
export async function selectLostTries(
  tx: Sql,
  before: Date,
  limit: number,
): Promise<(MessageRef & { number: number })[]> {
  return await tx<(MessageRef & { number: number })[]>`
    select account_id, message_id, number from attempts where running_since < ${before} order by running_since limit ${limit}`;
}

/** Attempts whose time for a receipt is over. */
export async function selectDueFallbacks(
  tx: Sql,
  now: Date,
  limit: number,
): Promise<(MessageRef & { number: number })[]> {
  return await tx<(MessageRef & { number: number })[]>`
    select account_id, message_id, number from attempts where falls_back_at <= ${now} order by falls_back_at limit ${limit}`;
}

/** At most `limit` accounts that have tries waiting, due or not, by id: found one from the other by the index. */
export async function selectAccountsWithTries(tx: Sql, limit: number): Promise<string[]> {
  const rows = await tx<{ account_id: string }[]>`
    with recursive accounts as (
      (select account_id, 1 as place from attempts where due_at is not null order by account_id limit 1)
      union all
      select next.account_id, a.place + 1 from accounts a cross join lateral (
        select account_id from attempts where due_at is not null and account_id > a.account_id order by account_id limit 1) as next
      where a.place < ${limit}
    )
    select account_id from accounts`;
  return rows.map(({ account_id }) => account_id);
}

/** At most `limit` messages of these accounts that have a try waiting, due or not. */
export async function selectWaitingTries(tx: Sql, accountIds: readonly string[], limit: number): Promise<MessageRef[]> {
  return await tx<MessageRef[]>`
    select account_id, message_id from attempts where account_id = any(${[...accountIds]}::uuid[]) and due_at is not null limit ${limit}`;
}
