import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { selectSettings } from './settings.sql.ts';
import { toSettings } from './settings.ts';

export const getAgentSettings = implement(contract.getAgentSettings, {
  handle: async ({ account, tx }) => toSettings(await selectSettings(tx, account.id)),
});
