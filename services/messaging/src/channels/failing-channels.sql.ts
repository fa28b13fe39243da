import type { Channel } from '@customer-platform/contracts/messaging';
import { isInScope, type Scope, type Sql } from '@customer-platform/service-kit';
import type { ChannelRow } from './channels.sql.ts';

/** Time in ms between two held messages that probe a failing channel. */
const probeEveryMs = 60_000;
/** Maximum number of held messages released per channel and round. The queue sends them at its own pace. */
const releasedAtOnce = 500;
const channelsAtOnce = 20;

/** Channels with due work: a failing one to probe, or a ready one with held messages to release. */
export const channelsWithWork = { name: 'channels', due: 'work_at' };

/** A channel as it was when a call of its provider was claimed. */
export interface ChannelTry {
  account_id: string;
  channel: Channel;
  /** When the channel was last set up. A result of an earlier setup says nothing about the current one. */
  channel_updated_at: Date;
}

/**
 * Marks channels whose credentials were refused as failing, and returns those that were ready before. If a channel was
 * set up again meanwhile, releases its held messages instead.
 */
export async function markFailing(
  tx: Sql,
  refused: readonly (ChannelTry & { message: string })[],
  now: Date,
): Promise<ChannelRow[]> {
  if (refused.length === 0) return [];
  const rows = await tx<(ChannelRow & { was_failing: boolean })[]>`
    update channels c set
      failing_since = case when c.updated_at = said.updated_at then coalesce(c.failing_since, ${now}) else c.failing_since end,
      failure = case when c.updated_at = said.updated_at then said.message else c.failure end,
      work_at = case when c.failing_since is not null then c.work_at
        when c.updated_at = said.updated_at then ${new Date(now.getTime() + probeEveryMs)} else ${now} end
    from (
      select distinct on (account_id, channel) * from unnest(${refused.map(({ account_id }) => account_id)}::uuid[],
        ${refused.map(({ channel }) => channel)}::text[], ${refused.map((one) => one.channel_updated_at.toISOString())}::text[]::timestamptz[],
        ${refused.map(({ message }) => message)}::text[]) as said (account_id, channel, updated_at, message)
      order by account_id, channel, updated_at desc
    ) as said
    where c.account_id = said.account_id and c.channel = said.channel
    returning new.*, old.failing_since is not null as was_failing`;
  return rows.filter((row) => row.failing_since !== null && !row.was_failing);
}

/** Marks failing channels whose provider accepted a message as ready, and returns them. */
export async function markReady(tx: Sql, taken: readonly ChannelTry[], now: Date): Promise<ChannelRow[]> {
  if (taken.length === 0) return [];
  return await tx<ChannelRow[]>`
    update channels c set failing_since = null, failure = null, work_at = ${now}
    from unnest(${taken.map(({ account_id }) => account_id)}::uuid[], ${taken.map(({ channel }) => channel)}::text[],
      ${taken.map((one) => one.channel_updated_at.toISOString())}::text[]::timestamptz[]) as said (account_id, channel, updated_at)
    where c.account_id = said.account_id and c.channel = said.channel and c.updated_at = said.updated_at and c.failing_since is not null
    returning c.*`;
}

/** A failing channel of any account. */
interface FailingChannel extends Pick<ChannelRow, 'channel' | 'provider'> {
  account: string;
  error: string | null;
  failing_since: Date;
}

/** Returns the failing channels of all accounts, longest failing first. */
export async function selectFailingChannels(sql: Sql, limit: number): Promise<FailingChannel[]> {
  return await sql<FailingChannel[]>`
    select account_id as account, channel, provider, failure as error, failing_since from channels
    where failing_since is not null order by failing_since, account_id, channel limit ${limit}`;
}

/** Lets one held message probe each due failing channel, and releases held messages of ready ones. Returns whether more may be due. */
export async function workOnChannels(tx: Sql, scope: Scope, now: Date): Promise<boolean> {
  const channels = await tx`
    with due as (
      select account_id, channel, failing_since from channels where work_at <= ${now} ${isInScope(tx, scope)}
      order by work_at limit ${channelsAtOnce} for no key update skip locked
    ), chosen as (
      select a.*, due.failing_since from due cross join lateral (
        select * from (
          select account_id, message_id, number from attempts
          where account_id = due.account_id and channel = due.channel and held_until is not null and due_at is not null
          order by message_id limit ${releasedAtOnce} for update skip locked) as oldest
        -- A random message each time, because a refusal may be the fault of one message.
        order by case when due.failing_since is not null then random() end, message_id
        limit case when due.failing_since is not null then 1 end) as a
    ), freed as (
      update attempts a set due_at = ${now}, held_until = case when chosen.failing_since is null then null else a.held_until end
      from chosen where a.account_id = chosen.account_id and a.message_id = chosen.message_id and a.number = chosen.number
    )
    update channels c set work_at = case when due.failing_since is not null then ${new Date(now.getTime() + probeEveryMs)}
      when left_over.has_more then ${now}::timestamptz end
    from due cross join lateral (
      select exists (
        select from attempts a left join chosen using (account_id, message_id, number)
        where a.account_id = due.account_id and a.channel = due.channel and a.held_until is not null and a.due_at is not null
          and chosen.number is null) as has_more
    ) as left_over
    where c.account_id = due.account_id and c.channel = due.channel
    returning c.work_at`;
  return channels.some(({ work_at }) => work_at !== null && work_at <= now) || channels.length === channelsAtOnce;
}
