import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { lockSettings, selectSettings, upsertSettings } from './settings.sql.ts';

export const updateSettings = implement(contract.updateSettings, {
  async handle({ account, tx, body }) {
    await lockSettings(tx, account.id);
    const current = await selectSettings(tx, account.id);
    const settings: contract.Settings = {
      enabled: body.enabled ?? current.enabled,
      mode: body.mode ?? current.mode,
      location: body.location ?? current.location,
      confirmation: {
        enabled: body.confirmation?.enabled ?? current.confirmation.enabled,
        channel: body.confirmation?.channel ?? current.confirmation.channel,
      },
      reminders: body.reminders ?? current.reminders,
    };
    await upsertSettings(tx, account.id, settings);
    return settings;
  },
});
