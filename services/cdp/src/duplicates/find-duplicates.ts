import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { askForRun } from './duplicate-runs.sql.ts';

export const findDuplicates = implement(contract.findDuplicates, {
  async handle({ account, tx, now }) {
    await askForRun(tx, account.id, now);
    return {};
  },
});
