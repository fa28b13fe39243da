import type { Channel } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

export interface ChannelRow {
  account_id: string;
  channel: Channel;
  provider: string;
  /** Encrypted. */
  settings: Buffer;
  token: string;
  /** When its provider began to refuse the credentials, and the provider's message; both null while the channel is ready. */
  failing_since: Date | null;
  failure: string | null;
  created_at: Date;
  updated_at: Date;
}

/** Returns the channels that an account has set up. */
export async function channelsOf(sql: Sql, accountId: string): Promise<Channel[]> {
  const rows = await sql<{ channel: Channel }[]>`select channel from channels where account_id = ${accountId}`;
  return rows.map(({ channel }) => channel);
}

/** A channel's state, without its settings. */
interface ChannelState extends Pick<ChannelRow, 'channel' | 'provider'> {
  status: 'ready' | 'failing';
  error: string | null;
  failing_since: Date | null;
  /** Messages held because the channel is failing, counted up to `maxHeldCounted`. */
  held: number;
}

const maxHeldCounted = 1_000;

/** Returns the states of an account's channels, by name. */
export async function channelStates(sql: Sql, accountId: string): Promise<ChannelState[]> {
  return await sql<ChannelState[]>`
    select channel, provider, case when failing_since is null then 'ready' else 'failing' end as status, failure as error,
      failing_since, (select count(*) from (
        select from attempts a where a.account_id = c.account_id and a.channel = c.channel and a.held_until is not null limit ${maxHeldCounted}
      ) as held)::integer as held
    from channels c where account_id = ${accountId} order by channel`;
}

/** Returns at most `limit` channels after the channel `after`, by name. */
export async function selectChannels(
  sql: Sql,
  accountId: string,
  after: string | undefined,
  limit: number,
): Promise<ChannelRow[]> {
  return await sql<ChannelRow[]>`
    select * from channels where account_id = ${accountId} ${after === undefined ? sql`` : sql`and channel > ${after}`}
    order by channel limit ${limit}`;
}

export async function lockChannel(tx: Sql, accountId: string, channel: Channel): Promise<ChannelRow | undefined> {
  const [row] = await tx<ChannelRow[]>`
    select * from channels where account_id = ${accountId} and channel = ${channel} for update`;
  return row;
}

/** Returns the channel with this hook token. */
export async function channelByToken(sql: Sql, token: string): Promise<ChannelRow | undefined> {
  const [row] = await sql<ChannelRow[]>`select * from channels where token = ${token}`;
  return row;
}

/** Inserts or updates a channel. An existing one keeps its token and creation time. The channel becomes ready, so its held messages are released. */
export async function upsertChannel(
  tx: Sql,
  row: Pick<ChannelRow, 'account_id' | 'channel' | 'provider' | 'settings' | 'token'>,
  now: Date,
): Promise<ChannelRow> {
  const [stored] = await tx<ChannelRow[]>`
    insert into channels (account_id, channel, provider, settings, token, created_at, updated_at)
    values (${row.account_id}, ${row.channel}, ${row.provider}, ${row.settings}, ${row.token}, ${now}, ${now})
    on conflict (account_id, channel) do update set provider = excluded.provider, settings = excluded.settings,
      updated_at = excluded.updated_at, failing_since = null, failure = null,
      work_at = case when channels.work_at is not null then ${now}::timestamptz end
    returning *`;
  return stored!;
}

/** Deletes a channel. Its held messages become due at once. */
export async function deleteChannelRow(tx: Sql, accountId: string, channel: Channel, now: Date): Promise<void> {
  await tx`
    with released as (
      update attempts set due_at = ${now}, held_until = null
      where account_id = ${accountId} and channel = ${channel} and held_until is not null and due_at is not null
    )
    delete from channels where account_id = ${accountId} and channel = ${channel}`;
}
