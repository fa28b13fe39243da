import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { selectSettings } from './settings.sql.ts';

export const getSettings = implement(contract.getSettings, {
  handle: ({ account, tx }) => selectSettings(tx, account.id),
});
