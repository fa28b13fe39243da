import type { Settings } from '@customer-platform/contracts/calendar';
import type { Sql } from '@customer-platform/service-kit';

/** Settings of an account that never changed them. */
export const defaultSettings: Settings = {
  enabled: true,
  mode: 'online',
  location: '',
  confirmation: { enabled: true, channel: 'whatsapp' },
  reminders: [],
};

interface SettingsRow {
  enabled: boolean;
  mode: Settings['mode'];
  location: string;
  confirmation_enabled: boolean;
  confirmation_channel: Settings['confirmation']['channel'];
  reminders: Settings['reminders'];
}

/** Returns the account's settings, or the defaults. */
export async function selectSettings(tx: Sql, accountId: string): Promise<Settings> {
  const [row] = await tx<SettingsRow[]>`
    select enabled, mode, location, confirmation_enabled, confirmation_channel, reminders
    from settings where account_id = ${accountId}`;
  if (!row) return defaultSettings;
  const { enabled, mode, location, confirmation_enabled, confirmation_channel, reminders } = row;
  return {
    enabled,
    mode,
    location,
    confirmation: { enabled: confirmation_enabled, channel: confirmation_channel },
    reminders,
  };
}

/** Serializes changes of an account's settings, also if it has no row yet. */
export async function lockSettings(tx: Sql, accountId: string) {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`settings ${accountId}`}, 0))`;
}

/** Replaces the account's settings as a whole. */
export async function upsertSettings(tx: Sql, accountId: string, settings: Settings) {
  const { enabled, mode, location, confirmation, reminders } = settings;
  await tx`
    insert into settings (account_id, enabled, mode, location, confirmation_enabled, confirmation_channel, reminders)
    values (${accountId}, ${enabled}, ${mode}, ${location}, ${confirmation.enabled}, ${confirmation.channel}, ${tx.json(reminders)})
    on conflict (account_id) do update set enabled = excluded.enabled, mode = excluded.mode, location = excluded.location,
      confirmation_enabled = excluded.confirmation_enabled, confirmation_channel = excluded.confirmation_channel,
      reminders = excluded.reminders`;
}
