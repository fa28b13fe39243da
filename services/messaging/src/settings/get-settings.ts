import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { selectSettings } from './settings.sql.ts';

export const getMessageSettings = implement(contract.getMessageSettings, {
  async handle({ account, tx }) {
    return await selectSettings(tx, account.id);
  },
});
