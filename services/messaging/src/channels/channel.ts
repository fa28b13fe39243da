import type { AccountContext, EventData } from '@customer-platform/contracts/core';
import type { channelFailing, MessageChannel } from '@customer-platform/contracts/messaging';
import { decryptSecret } from '@customer-platform/outbound';
import { formatInstant } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { providers } from '../providers/all.ts';
import type { ChannelRow } from './channels.sql.ts';

export type Settings = Record<string, unknown>;

/** Returns the decrypted settings of a channel, including secrets. */
export function settingsOf(row: ChannelRow, { secretKeys }: MessagingResources): Settings {
  return JSON.parse(decryptSecret(secretKeys, row.settings, row.account_id, row.channel)) as Settings;
}

/** Converts a row to a channel of the API, without secrets except those in `shown`. */
export function toChannel(
  row: ChannelRow,
  account: Pick<AccountContext, 'timezone'>,
  resources: MessagingResources,
  shown: readonly string[] = [],
): MessageChannel {
  const { provider } = row;
  const secrets: readonly string[] = providers.get(provider)?.secrets ?? [];
  const isShown = (name: string) => shown.includes(name) || !secrets.includes(name);
  const settings = Object.entries(settingsOf(row, resources)).filter(([name]) => isShown(name));
  return {
    channel: row.channel,
    provider,
    status: row.failing_since === null ? 'ready' : 'failing',
    error: row.failure,
    failing_since: row.failing_since && formatInstant(row.failing_since, account.timezone),
    settings: Object.fromEntries(settings),
    hook_url: resources.hookUrlOf(row.token),
    created_at: formatInstant(row.created_at, account.timezone),
    updated_at: formatInstant(row.updated_at, account.timezone),
  };
}

/** Returns the data of a channel's events. `since` is when it began to fail or became ready. */
export function toChannelState(
  { channel, provider, failure: error }: ChannelRow,
  { timezone }: Pick<AccountContext, 'timezone'>,
  since: Date,
): EventData<typeof channelFailing> {
  return { channel, provider, error, since: formatInstant(since, timezone) };
}
