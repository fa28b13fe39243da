import * as contract from '@customer-platform/contracts/calendar';
import { applyPatch } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { lockSettings, selectSettings, upsertSettings } from './settings.sql.ts';

export const updateSettings = implement(contract.updateSettings, {
  async handle({ account, tx, body }) {
    await lockSettings(tx, account.id);
    const current = await selectSettings(tx, account.id);
    const { confirmation = {}, ...others } = body;
    const settings: contract.Settings = {
      ...applyPatch(current, others),
      confirmation: applyPatch(current.confirmation, confirmation),
    };
    await upsertSettings(tx, account.id, settings);
    return settings;
  },
});
