import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { upsertSettings } from './settings.sql.ts';

export const updateMessageSettings = implement(contract.updateMessageSettings, {
  async handle({ account, tx, body: { automatic } }) {
    return await upsertSettings(tx, account.id, automatic ?? {});
  },
});
