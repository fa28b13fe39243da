import { type Channel, defaultMessageSettings, type MessageSettings } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

type Automatic = MessageSettings['automatic'];

/** Returns an account's settings, or the defaults. */
export async function selectSettings(sql: Sql, accountId: string): Promise<MessageSettings> {
  const [automatic] = await sql<Automatic[]>`
    select fallback, fallback_after_seconds from message_settings where account_id = ${accountId}`;
  return automatic ? { automatic } : defaultMessageSettings;
}

/** Updates the given settings of an account, and returns all of them. */
export async function upsertSettings(
  tx: Sql,
  accountId: string,
  {
    fallback,
    fallback_after_seconds,
  }: { fallback?: Channel[] | undefined; fallback_after_seconds?: number | undefined },
): Promise<MessageSettings> {
  const standard = defaultMessageSettings.automatic;
  const [automatic] = await tx<Automatic[]>`
    insert into message_settings as known (account_id, fallback, fallback_after_seconds)
    values (${accountId}, ${fallback ?? standard.fallback}::text[], ${fallback_after_seconds ?? standard.fallback_after_seconds})
    on conflict (account_id) do update set
      fallback = coalesce(${fallback ?? null}::text[], known.fallback),
      fallback_after_seconds = coalesce(${fallback_after_seconds ?? null}::integer, known.fallback_after_seconds)
    returning fallback, fallback_after_seconds`;
  return { automatic: automatic! };
}

/** Settings for an account's automatic messages, and the channels that it has set up. */
export interface AutomaticChannels extends Automatic {
  account_id: string;
  /** Provider by channel. */
  set_up: Partial<Record<Channel, string>>;
}

/** Returns the settings of these accounts, each once. */
export async function selectAutomatic(sql: Sql, accountIds: readonly string[]): Promise<AutomaticChannels[]> {
  const { fallback, fallback_after_seconds } = defaultMessageSettings.automatic;
  return await sql<AutomaticChannels[]>`
    select id as account_id, coalesce(s.fallback, ${fallback}::text[]) as fallback,
      coalesce(s.fallback_after_seconds, ${fallback_after_seconds}) as fallback_after_seconds,
      (select coalesce(jsonb_object_agg(channel, provider), '{}') from channels c where c.account_id = id) as set_up
    from unnest(${[...accountIds]}::uuid[]) as id left join message_settings s on s.account_id = id`;
}
