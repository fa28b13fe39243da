import type { Settings } from '@customer-platform/contracts/calendar';
import type { Sql } from '@customer-platform/service-kit';

/** Settings of an account without a row. */
const defaultSettings: Settings = {
  enabled: true,
  mode: 'online',
  location: '',
  confirmation: { enabled: true, channel: 'whatsapp' },
  reminders: [],
};

/** The row of an account's settings. */
export interface SettingsRow extends Omit<Settings, 'confirmation'> {
  confirmation_enabled: boolean;
  confirmation_channel: Settings['confirmation']['channel'];
}

/** Returns the settings in an account's row, or the defaults if it has none. */
export function settingsOf(row: SettingsRow | null | undefined): Settings {
  if (!row) return defaultSettings;
  const { enabled, mode, location, confirmation_enabled, confirmation_channel, reminders } = row;
  const confirmation = { enabled: confirmation_enabled, channel: confirmation_channel };
  return { enabled, mode, location, confirmation, reminders };
}

/** Returns the account's settings, or the defaults. */
export async function selectSettings(tx: Sql, accountId: string): Promise<Settings> {
  const [row] = await tx<SettingsRow[]>`
    select enabled, mode, location, confirmation_enabled, confirmation_channel, reminders
    from settings where account_id = ${accountId}`;
  return settingsOf(row);
}

/** Serializes changes of an account's settings, even if it has no row yet. */
export async function lockSettings(tx: Sql, accountId: string) {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`settings ${accountId}`}, 0))`;
}

/** Replaces the account's settings as a whole. */
export async function upsertSettings(tx: Sql, accountId: string, settings: Settings) {
  const { confirmation, reminders, ...others } = settings;
  const values = {
    ...others,
    confirmation_enabled: confirmation.enabled,
    confirmation_channel: confirmation.channel,
    reminders: tx.json(reminders),
  };
  await tx`
    insert into settings ${tx({ account_id: accountId, ...values })}
    on conflict (account_id) do update set ${tx(values)}`;
}
